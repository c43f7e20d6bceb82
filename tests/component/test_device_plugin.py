# SPDX-License-Identifier: Apache-2.0
"""nvidia-device-plugin beside a kubelet and the test bed's GPUs: one test here for each case of
device_plugin/device_plugin_component.cc. The build is $GANTRY_BUILD (default build/release).
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
SOURCE = ROOT / "tests/component/device_plugin/device_plugin_component.cc"
CASES = re.findall(r"^TEST_F\(DevicePlugin, (\w+)\)", SOURCE.read_text(), re.M)


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    if "GANTRY_BUILD" in os.environ:
        return pathlib.Path(os.environ["GANTRY_BUILD"])
    subprocess.run([ROOT / "do", "build", "release", "gantry", "device_plugin_component",
                    "fakegpu_nvml"], check=True)
    return ROOT / "build/release"


@pytest.fixture(scope="session")
def results(build, tmp_path_factory) -> dict[str, list]:
    """Each case's failures; all of them run on one machine of 8 A100."""
    folder = tmp_path_factory.mktemp("device_plugin")
    root = folder / "root"
    root.mkdir()
    fakegpu = [sys.executable, str(FAKEGPU / "fakegpu.py")]
    subprocess.run([*fakegpu, "install", "--root", root, "--profile",
                    FAKEGPU / "profiles/8xa100-80.yaml", "--node", "component",
                    "--library", build / "testbed/fakegpu/libnvidia-ml.so.1"], check=True)
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
    for gpu in json.loads((root / "opt/fakegpu/machine.json").read_text())["gpus"]:
        device = root / "sys/bus/pci/devices" / gpu["pci"]
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{gpu['numa_node']}\n")
    environment = os.environ | {
        "PLUGIN_ROOT": str(root), "PLUGIN_PROGRAM": os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry")),
        "PLUGIN_CONTROL": " ".join([*fakegpu, "control", "--root", str(root)])}
    report = folder / "report.json"
    ran = subprocess.run([build / "bin/device_plugin_component", f"--gtest_output=json:{report}"],
                         env=environment, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=400, check=False)
    assert report.exists() and ran.returncode in (0, 1), ran.stdout
    return {case["name"]: case.get("failures", [])
            for suite in json.loads(report.read_text())["testsuites"] for case in suite["testsuite"]}


@pytest.mark.parametrize("case", CASES)
def test_device_plugin(results, case):
    assert results[case] == []
