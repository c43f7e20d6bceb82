# SPDX-License-Identifier: Apache-2.0
"""The driver manager beside a real API server and the controllers of DaemonSets and disruption budgets. No kubelet
runs: the thread of kubelets.py binds pods and lets them end. The node's kernel is a folder in which a module
is said to be loaded; what holds it is a folder of processes. The program is that of $GANTRY_BUILD.
"""

import os
import shutil
import subprocess

import pytest
from control_plane import ControlPlane, wait
from kubelets import Kubelets
from test_operator import SPACE

NODE = "a"
DEPLOY = "nvidia.com/gpu.deploy.device-plugin"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/daemonsets"
USERS = "/api/v1/namespaces/users/pods"
CORDON = "nvidia.com/gpu-operator.driver-manager-cordon"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,disruption-controller") as plane:
        for space in (SPACE, "users"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        plane.call("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": {
            DEPLOY: "true", "nvidia.com/gpu.deploy.driver": "true", "nvidia.com/gpu.deploy.dcgm": "false"}}})
        plane.patch(f"/api/v1/nodes/{NODE}/status", {"status": {
            "conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "8", "pods": "50"}}})
        # Those that nodes get before they are Ready, and no controller here takes away.
        plane.patch(f"/api/v1/nodes/{NODE}", {"spec": {"taints": None}})
        app = {"app": "nvidia-device-plugin-daemonset"}
        plane.call("POST", SETS, {"metadata": {"name": "nvidia-device-plugin-daemonset"}, "spec": {
            "selector": {"matchLabels": app}, "template": {"metadata": {"labels": app}, "spec": {
                "nodeSelector": {DEPLOY: "true"}, "containers": [{"name": "c", "image": "x"}]}}}})
        with Kubelets(plane):
            yield plane


@pytest.fixture(name="node")
def fixture_node(plane, build, tmp_path):  # noqa: F811
    node = Node(plane, build, tmp_path)
    wait(lambda: len(node.operands()) == 1, "the operand's pod")
    yield node
    for pod in plane.get(USERS)["items"]:
        plane.call("DELETE", f"{USERS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    budgets = "/apis/policy/v1/namespaces/users/poddisruptionbudgets"
    for budget in plane.get(budgets)["items"]:
        plane.call("DELETE", f"{budgets}/{budget['metadata']['name']}")


class Node:
    def __init__(self, plane, build, folder):  # noqa: F811
        self.plane, self.program, self.root = plane, build / "bin/gantry", folder
        self.log, self.reason = folder / "log", folder / "termination-log"
        for path in ("proc", "sys/module", "run/nvidia"):
            (folder / path).mkdir(parents=True)
        (folder / "proc/modules").write_text("")
        (folder / "run/nvidia/nvidia-driver.pid").write_text("7\n")
        self.reason.write_text("")

    def load(self, digest=""):
        (self.root / "sys/module/nvidia").mkdir()
        if digest:
            (self.root / "run/nvidia/nvidia-driver.state").write_text(digest)

    def start(self, **settings):
        environment = os.environ | {
            "NODE_NAME": NODE, "OPERATOR_NAMESPACE": SPACE, "KUBECONFIG": str(self.plane.kubeconfig),
            "ENABLE_AUTO_DRAIN": "false", "DRIVER_ROOT": str(self.root), "HOST_ROOT_MOUNT": str(self.root / "host"),
            "TERMINATION_LOG": str(self.reason)} | settings
        return subprocess.Popen([self.program, "driver-manager", "uninstall_driver"], env=environment,
                                stderr=open(self.log, "ab"))

    def run(self, **settings) -> int:
        return self.start(**settings).wait(60)

    def object(self):
        return self.plane.get(f"/api/v1/nodes/{NODE}")

    def label(self):
        return self.object()["metadata"]["labels"][DEPLOY]

    def is_as_before(self) -> bool:
        node = self.object()
        return (node["metadata"]["labels"][DEPLOY] == "true" and not node["spec"].get("unschedulable")
                and CORDON not in node["metadata"].get("annotations", {}))

    def operands(self):
        return [p["metadata"]["uid"] for p in self.plane.get(PODS)["items"] if "deletionTimestamp" not in p["metadata"]]

    def jobs(self):
        return [p["metadata"]["name"] for p in self.plane.get(USERS)["items"]]

    def add_job(self, name, managed=True, **spec):
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
        pod = self.plane.call("POST", USERS, {
            "metadata": {"name": name, "labels": {"job": name}} | ({"ownerReferences": owners} if managed else {}),
            "spec": {"nodeName": NODE, "containers": [
                {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}]} | spec})
        wait(lambda: self.plane.get(f"{USERS}/{name}")["status"].get("phase") == "Running", name)
        return pod["metadata"]["uid"]


def test_operands_go_and_come_back_and_gpu_pods_are_evicted(node):
    node.load()
    node.add_job("train")
    operand = node.operands()
    assert node.run() == 0, node.log.read_text()
    assert node.jobs() == []
    assert node.is_as_before()
    wait(lambda: len(node.operands()) == 1 and node.operands() != operand, "another pod of the operand")
    assert not (node.root / "run/nvidia/nvidia-driver.pid").exists()
    assert node.object()["metadata"]["labels"]["nvidia.com/gpu.deploy.dcgm"] == "false"


def test_the_same_driver_stays_and_so_do_the_pods_with_gpus(node):
    node.load(digest="42")
    node.add_job("train")
    assert node.run(DRIVER_CONFIG_DIGEST="42") == 0, node.log.read_text()
    assert node.jobs() == ["train"]
    assert node.is_as_before()
    assert node.run(DRIVER_CONFIG_DIGEST="42", FORCE_REINSTALL="true") == 0
    assert node.jobs() == []


def test_without_a_driver_nobody_is_disturbed(node):
    node.add_job("train")
    operand = node.operands()
    assert node.run() == 0, node.log.read_text()
    assert (node.jobs(), node.operands()) == (["train"], operand)


def test_a_driver_of_the_host_is_known_before_its_module_is_loaded(node):
    for name in ("bin", "usr/bin"):
        (node.root / "host" / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", node.root / "host/bin/sh")
    program = node.root / "host/usr/bin/nvidia-smi"
    program.write_text("#!/bin/sh\necho 535.247.01\n")
    program.chmod(0o755)
    driver = "nvidia.com/gpu.deploy.driver"
    manager = node.start()
    try:
        wait(lambda: node.object()["metadata"]["labels"][driver] == "pre-installed", "the label of a driver of the host")
    finally:
        manager.terminate()
        node.plane.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {driver: "true"}}})
    assert manager.wait(10) == 1
    assert "the host has a driver of its own" in node.reason.read_text()


def test_who_holds_the_driver_is_named_with_its_pod_and_all_is_taken_back(node):
    node.load()
    uid = node.add_job("train")
    (node.root / "proc/modules").write_text("nvidia 1 0 - Live 0x0\n")
    process = node.root / "proc/812"
    (process / "fd").mkdir(parents=True)
    (process / "fd/3").symlink_to("/dev/nvidia0")
    (process / "comm").write_text("python\n")
    (process / "cgroup").write_text(f"0::/kubepods/pod{uid}/77\n")
    assert node.run(ENABLE_GPU_POD_EVICTION="false") == 1
    assert node.reason.read_text() == ("unload the driver: it is in use by process 812 (python, /dev/nvidia0, "
                                       "pod users/train)\n")
    assert node.jobs() == ["train"]
    assert node.is_as_before()


def test_a_disruption_budget_is_respected_until_the_limit(node):
    node.load()
    node.add_job("train")
    node.plane.call("POST", "/apis/policy/v1/namespaces/users/poddisruptionbudgets", {
        "metadata": {"name": "all"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"job": "train"}}}})
    assert node.run(DRAIN_TIMEOUT_SECONDS="1s") == 1
    assert "users/train still there" in node.reason.read_text()
    assert node.jobs() == ["train"]
    assert node.is_as_before()


def test_a_pod_that_nobody_makes_anew_is_not_evicted_without_force(node):
    node.load()
    node.add_job("alone", managed=False)
    assert node.run() == 1
    assert "pod users/alone has no controller that makes it anew (DRAIN_USE_FORCE)" in node.reason.read_text()
    assert node.jobs() == ["alone"]
    assert node.run(DRAIN_USE_FORCE="true") == 0, node.log.read_text()
    assert node.jobs() == []


def test_a_cordon_of_somebody_else_stays(node):
    node.load()
    node.plane.patch(f"/api/v1/nodes/{NODE}", {"spec": {"unschedulable": True}})
    try:
        assert node.run() == 0, node.log.read_text()
        assert node.object()["spec"]["unschedulable"]
        assert CORDON not in node.object()["metadata"].get("annotations", {})
    finally:
        node.plane.patch(f"/api/v1/nodes/{NODE}", {"spec": {"unschedulable": None}})


def test_a_manager_that_was_killed_leaves_nothing_paused_for_its_successor(node):
    node.load()
    node.add_job("train")
    node.plane.call("POST", "/apis/policy/v1/namespaces/users/poddisruptionbudgets", {
        "metadata": {"name": "all"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"job": "train"}}}})
    manager = node.start()
    wait(lambda: node.object()["spec"].get("unschedulable") and node.label() == "paused-for-driver-upgrade", "a cordon")
    manager.kill()
    manager.wait()
    assert node.object()["metadata"]["annotations"][CORDON] == "true"
    (node.root / "sys/module/nvidia").rmdir()  # the node was started anew
    assert node.run() == 0, node.log.read_text()
    assert node.is_as_before()
