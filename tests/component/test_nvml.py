# SPDX-License-Identifier: Apache-2.0
"""src/nvml on the test bed's GPUs: one test here for each case of nvml/nvml_component.cc, on a driver
root made from the profile that the case's suite names. The build is $GANTRY_BUILD (default
build/release).
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKEGPU = ROOT / "testbed/fakegpu"
SOURCE = ROOT / "tests/component/nvml/nvml_component.cc"
CASES = re.findall(r"^TEST\((\w+), (\w+)\)", SOURCE.read_text(), re.M)
PROFILES = {"TwoT4": "2xt4", "EightA100": "8xa100-80", "FourV100": "4xv100", "Mixed": "mixed",
            "EightA100Mig": "8xa100-80-mig"}
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def driver_root(root: pathlib.Path, build: pathlib.Path, name: str) -> None:
    """The library with its GPUs, the device nodes, and sysfs as far as it is read."""
    sys.path.insert(0, str(FAKEGPU))
    from machine import image, layout, profile  # noqa: PLC0415

    built = build / "testbed/fakegpu/libnvidia-ml.so.1"
    known = layout.Layout(built)
    machine = profile.load(FAKEGPU / f"profiles/{name}.yaml", "node", set(known.fields["gpu"]))
    library = root / LIBRARIES / f"libnvidia-ml.so.{machine.driver_version}"
    library.parent.mkdir(parents=True)
    layout.append(built, library, image.build(known, machine))
    (library.parent / "libnvidia-ml.so.1").symlink_to(library.name)
    (root / "dev/nvidia-caps").mkdir(parents=True)
    fixed = ["null", "nvidiactl", "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"]
    for node in fixed + [f"nvidia{gpu.fields['minor']}" for gpu in machine.gpus]:
        os.mknod(root / "dev" / node, 0o020666, os.makedev(1, 3))
        (root / "dev" / node).chmod(0o666)
    for gpu in machine.gpus:
        device = root / "sys/bus/pci/devices" / gpu.bdf
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{gpu.fields['numa_node']}\n")


@pytest.fixture(scope="session")
def results(build, tmp_path_factory) -> dict[str, list]:
    """Each case's failures; the cases of a suite share a run."""
    failures = {}
    for suite, name in PROFILES.items():
        folder = tmp_path_factory.mktemp(suite)
        driver_root(folder / "root", build, name)
        control = f"{sys.executable} {FAKEGPU}/fakegpu.py control --root {folder}/root"
        environment = os.environ | {
            "NVML_ROOT": str(folder / "root"), "NVML_LOSE": f"{control} lose 1 --quiet",
            "NVML_FAIL": f"{control} fail 1", "NVML_RECOVER": f"{control} recover 1",
            "NVML_XID": f"{control} xid 1 48", "NVML_MIG": f"{control} mig 0"}
        report = folder / "report.json"
        ran = subprocess.run([build / "bin/nvml_component", f"--gtest_filter={suite}.*",
                              f"--gtest_output=json:{report}"], env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                             check=False)
        assert report.exists() and ran.returncode in (0, 1), ran.stdout
        failures |= {f"{each['name']}.{case['name']}": case.get("failures", [])
                     for each in json.loads(report.read_text())["testsuites"]
                     for case in each["testsuite"]}
    return failures


@pytest.mark.parametrize(("suite", "case"), CASES)
def test_nvml(results, suite, case):
    assert results[f"{suite}.{case}"] == []
