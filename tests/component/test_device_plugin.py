# SPDX-License-Identifier: Apache-2.0
"""nvidia-device-plugin beside a kubelet and the test bed's GPUs: one test here for each case of
device_plugin/device_plugin_component.cc; and beside an API server, where it has a Node. The build is
$GANTRY_BUILD (default build/release).
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from control_plane import ControlPlane, wait

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKEGPU = ROOT / "testbed/fakegpu"
SOURCE = ROOT / "tests/component/device_plugin/device_plugin_component.cc"
CASES = re.findall(r"^TEST_F\((\w+), (\w+)\)", SOURCE.read_text(), re.M)
PROFILES = {"DevicePlugin": "8xa100-80", "DevicePluginMig": "8xa100-80-mig"}
LABELS = "DevicePluginAndLabels"  # this suite is for every profile, and these machines
STATION = {"gpus": [{"product": "NVIDIA A100-SXM4-80GB", "count": 4, "mig_devices": {"1g.10gb": 7}},
                    {"product": "Tesla T4", "name": "NVIDIA DGX Display", "memory": "4 GiB"}]}
MACHINES = {path.stem: path for path in sorted((FAKEGPU / "profiles").glob("*.yaml"))} | {
    "station": STATION,
    "alike": {"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "count": 2, "mig_devices": ["3g.20gb", "3g.20gb"]}]},
    "one-empty": {"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["3g.20gb"]},
                           {"product": "NVIDIA A100-SXM4-40GB", "mig": "enabled"}]}}
SHARDS = 4


def machine(root: pathlib.Path, build: pathlib.Path, profile: str | dict) -> None:
    """A driver root with these GPUs, and what of /dev, /proc and /sys is read."""
    root.mkdir()
    path = FAKEGPU / f"profiles/{profile}.yaml"
    if isinstance(profile, dict):
        path = root.parent / "profile.yaml"
        path.write_text(json.dumps(profile))
    subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "install", "--root", root, "--profile",
                    path, "--node", "component",
                    "--library", build / "testbed/fakegpu/libnvidia-ml.so.1"], check=True)
    for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
        os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
    shutil.copytree(root / "opt/fakegpu/proc/driver", root / "proc/driver")
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/nvidia-ctk").write_text("#!/bin/sh\n")  # which the CDI documents name
    (root / "usr/bin/nvidia-ctk").chmod(0o755)
    for gpu in json.loads((root / "opt/fakegpu/machine.json").read_text())["gpus"]:
        device = root / "sys/bus/pci/devices" / gpu["pci"]
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{gpu['numa_node']}\n")


def run_shard(build: pathlib.Path, folder: pathlib.Path, suite: str, shard: int) -> dict[tuple, list]:
    """Some of a suite's cases, on a machine of their own; each case's failures."""
    return run_suite(build, folder, suite, PROFILES[suite], {
        "GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard)})


def run_suite(build: pathlib.Path, folder: pathlib.Path, suite: str, profile: str | dict,
              variables: dict) -> dict[tuple, list]:
    root = folder / "root"
    machine(root, build, profile)
    environment = os.environ | variables | {
        "PLUGIN_ROOT": str(root),
        "PLUGIN_PROGRAM": os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry")),
        "PLUGIN_CONTROL": f"{sys.executable} {FAKEGPU / 'fakegpu.py'} control --root {root}"}
    report = folder / "report.json"
    ran = subprocess.run([build / "bin/device_plugin_component", f"--gtest_output=json:{report}",
                          f"--gtest_filter={suite}.*"],
                         env=environment, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=600, check=False)
    assert report.exists() and ran.returncode in (0, 1), ran.stdout
    return {(suite, case["name"]): case.get("failures", [])
            for ran_suite in json.loads(report.read_text())["testsuites"]
            for case in ran_suite["testsuite"] if case["status"] == "RUN"}


@pytest.fixture(scope="session")
def results(build, tmp_path_factory) -> dict[tuple, list]:
    """Each case's failures. The cases mostly wait, so they run side by side."""
    folders = {(suite, shard): tmp_path_factory.mktemp(f"{suite.lower()}{shard}")
               for suite in PROFILES for shard in range(SHARDS)}
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=SHARDS) as pool:
        for found in pool.map(lambda place: run_shard(build, folders[place], *place), folders):
            failures |= found
    return failures


@pytest.mark.parametrize(("suite", "case"), [case for case in CASES if case[0] in PROFILES],
                         ids=[".".join(case) for case in CASES if case[0] in PROFILES])
def test_device_plugin(results, suite, case):
    assert results[suite, case] == []


@pytest.mark.parametrize("profile", MACHINES)
def test_labels_say_what_is_offered(build, tmp_path, profile):
    """kdp#731, gfd#27: the plugin and gpu-feature-discovery, over MIG strategies and ways of sharing."""
    what = MACHINES[profile] if isinstance(MACHINES[profile], dict) else profile
    found = run_suite(build, tmp_path, LABELS, what, {})
    assert found and all(failures == [] for failures in found.values()), found


class OnNode:
    """A plugin on a Node of a real API server, and on GPUs; without a kubelet."""

    def __init__(self, plane, folder, build, name, words=(), lose=None):
        self.plane, self.path, self.log = plane, f"/api/v1/nodes/{name}", folder / "log"
        self.root = folder / "root"
        self.log.touch()
        machine(self.root, build, "2xt4")
        if lose is not None:
            self.control("lose", str(lose), "--quiet")
        plane.call("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        plane.patch(f"{self.path}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        program = os.environ.get("PLUGIN_PROGRAM", str(build / "bin/gantry"))
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'mount --bind {self.root}/dev /dev && exec "$@" 2>> {self.log}', "sh",
             program, "nvidia-device-plugin", f"--kubelet-socket={folder}/kubelet.sock", f"--node-name={name}",
             f"--driver-root-ctr-path={self.root}", f"--host-root={self.root}",
             f"--status-dir={folder}/validations", f"--cdi-dir={folder}/cdi", *words],
            env=os.environ | {"KUBECONFIG": str(plane.kubeconfig)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(20) == 0, self.log.read_text()

    def control(self, *words):
        subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "control", "--root", self.root, *words], check=True)

    def condition(self):
        found = [c for c in self.plane.get(self.path)["status"]["conditions"] if c["type"] == "GPUHealthy"]
        return (found[0]["status"], found[0]["message"]) if found else ("", "")

    def events(self, reason):
        return [e["message"] for e in self.plane.get("/api/v1/events")["items"]
                if e["reason"] == reason and e["involvedObject"]["name"] == self.path.rsplit("/", 1)[1]]

    def says(self, text):
        return text in self.log.read_text()


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset") as plane:
        yield plane


def test_the_node_says_which_gpu_is_out_of_service_and_why(plane, build, tmp_path):
    with OnNode(plane, tmp_path, build, "sick") as node:
        wait(lambda: node.condition() == ("True", "every GPU is in service"), "the condition")
        gpu = json.loads((node.root / "opt/fakegpu/machine.json").read_text())["gpus"][1]["uuid"]
        node.control("xid", "1", "48")
        wait(lambda: node.condition() == ("False", f"out of service: {gpu}: XID 48"), "the reason", 5)
        wait(lambda: any(gpu in m and "XID 48" in m for m in node.events("GPUUnhealthy")), "an event", 10)
        wait(lambda: node.condition()[0] == "True", "its recovery", 30)
        assert [c["status"] for c in plane.get(node.path)["status"]["conditions"] if c["type"] == "Ready"] == ["True"]
    writes = [w for w in plane.writes("nvidia-device-plugin") if w == "patch nodes/sick"]
    assert len(writes) == 3, "a write for each change"


def test_a_gpu_that_could_never_be_read_is_no_healthy_one(plane, build, tmp_path):
    with OnNode(plane, tmp_path, build, "unread", lose=1) as node:
        wait(lambda: node.condition()[0] == "False", "the condition")
        assert node.condition()[1].startswith("out of service: GPU 1: ")
        node.control("recover", "1")
        wait(lambda: node.condition() == ("True", "every GPU is in service"), "its recovery", 40)


def test_the_nodes_label_chooses_the_configuration(plane, build, tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    for name, replicas in (("two", 2), ("four", 4)):
        (folder / name).write_text("sharing: {timeSlicing: {resources: [{name: gpu, replicas: %d}]}}" % replicas)
    label = "nvidia.com/device-plugin.config"
    with OnNode(plane, tmp_path, build, "chooses",
                [f"--config-file-srcdir={folder}", "--default-config=two"]) as node:
        wait(lambda: node.says("configuration 'two' is in force"), "the default")
        plane.patch(node.path, {"metadata": {"labels": {label: "four"}}})
        wait(lambda: node.says("configuration 'four' is in force"), "the label's", 5)
        plane.patch(node.path, {"metadata": {"labels": {label: "five"}}})
        wait(lambda: node.says("configuration 'four' stays in force"), "the last good one", 5)
        wait(lambda: any("asks for 'five', there is four, two" in m for m in node.events("InvalidDevicePluginConfig")),
             "an event that says so", 10)
        plane.patch(node.path, {"metadata": {"labels": {label: None}}})
        wait(lambda: node.log.read_text().count("configuration 'two' is in force") == 2, "the default again", 5)
