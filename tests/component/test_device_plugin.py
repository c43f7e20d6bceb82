# SPDX-License-Identifier: Apache-2.0
"""nvidia-device-plugin beside a kubelet and the test bed's GPUs: one test here for each case of
device_plugin/device_plugin_component.cc. The build is $GANTRY_BUILD (default build/release).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKEGPU = ROOT / "testbed/fakegpu"
SOURCE = ROOT / "tests/component/device_plugin/device_plugin_component.cc"
CASES = re.findall(r"^TEST_F\((\w+), (\w+)\)", SOURCE.read_text(), re.M)
PROFILES = {"DevicePlugin": "8xa100-80", "DevicePluginMig": "8xa100-80-mig"}


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    if "GANTRY_BUILD" in os.environ:
        return pathlib.Path(os.environ["GANTRY_BUILD"])
    subprocess.run([ROOT / "do", "build", "release", "gantry", "device_plugin_component",
                    "fakegpu_nvml"], check=True)
    return ROOT / "build/release"


def machine(root: pathlib.Path, build: pathlib.Path, profile: str) -> None:
    """A driver root with these GPUs, and what of /dev, /proc and /sys is read."""
    root.mkdir()
    subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "install", "--root", root, "--profile",
                    FAKEGPU / f"profiles/{profile}.yaml", "--node", "component",
                    "--library", build / "testbed/fakegpu/libnvidia-ml.so.1"], check=True)
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
    shutil.copytree(root / "opt/fakegpu/proc/driver", root / "proc/driver")
    for gpu in json.loads((root / "opt/fakegpu/machine.json").read_text())["gpus"]:
        device = root / "sys/bus/pci/devices" / gpu["pci"]
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{gpu['numa_node']}\n")


@pytest.fixture(scope="session")
def results(build, tmp_path_factory) -> dict[str, list]:
    """Each case's failures; the cases of a suite share a machine."""
    failures = {}
    for suite, profile in PROFILES.items():
        folder = tmp_path_factory.mktemp(suite.lower())
        root = folder / "root"
        machine(root, build, profile)
        environment = os.environ | {
            "PLUGIN_ROOT": str(root),
            "PLUGIN_PROGRAM": os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry")),
            "PLUGIN_CONTROL": f"{sys.executable} {FAKEGPU / 'fakegpu.py'} control --root {root}"}
        report = folder / "report.json"
        ran = subprocess.run([build / "bin/device_plugin_component", f"--gtest_output=json:{report}",
                              f"--gtest_filter={suite}.*"],
                             env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=600, check=False)
        assert report.exists() and ran.returncode in (0, 1), ran.stdout
        for ran_suite in json.loads(report.read_text())["testsuites"]:
            for case in ran_suite["testsuite"]:
                failures[suite, case["name"]] = case.get("failures", [])
    return failures


@pytest.mark.parametrize(("suite", "case"), CASES, ids=[".".join(case) for case in CASES])
def test_device_plugin(results, suite, case):
    assert results[suite, case] == []
