# SPDX-License-Identifier: Apache-2.0
"""nvidia-mig-manager beside a real kube-apiserver, a kubelet's list of pods, and the test bed's GPUs. The build is
$GANTRY_BUILD (default build/release).
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from mig_machine import Machine, gpus, wait
from test_features import Api, CRD, new_node  # noqa: F401

H100 = "NVIDIA H100 80GB HBM3"
WRITES = ("nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstance", "nvmlGpuInstanceCreateComputeInstance",
          "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy")


def start_api(folder: pathlib.Path) -> Api:
    """An API server that knows NodeFeatures."""
    folder.mkdir(exist_ok=True)
    server = Api(folder)
    try:
        server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD.read_bytes(),
                    "application/yaml")
        server.call("POST", "/api/v1/namespaces",
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}})
        wait(lambda: server.call("GET", "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeatures"), "NodeFeature is served")
    except BaseException:
        server.close()
        raise
    return server


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    server = start_api(tmp_path_factory.mktemp("api"))
    yield server
    server.close()


class Node:
    """A Node with a machine, a kubelet's list of pods, and the manager."""

    def __init__(self, api, build: pathlib.Path, folder: pathlib.Path, name: str, profile: dict):
        self.api, self.build, self.folder, self.name = api, build, folder, name
        self.machine = Machine(folder, build, profile, name)
        new_node(api, name)
        self.pods()
        socket = folder / "kubelet.sock"
        self.kubelet = subprocess.Popen([build / "bin/fake_pod_resources", socket, folder / "pods.json"])
        wait(socket.exists, "the kubelet")
        self.manager = None

    def pods(self, *pods: tuple[str, str]):
        """The names of pods and the UUIDs of the devices that they hold."""
        part = self.folder / ".part"
        part.write_text(json.dumps([{"namespace": "default", "name": name, "container": "c",
                                     "resource": "nvidia.com/gpu", "ids": [uuid]} for name, uuid in pods]))
        part.rename(self.folder / "pods.json")

    def start(self, *words, **environment) -> None:
        machine = self.machine
        self.manager = subprocess.Popen(
            [self.build / "bin/gantry", "nvidia-mig-manager", f"--kubeconfig={self.api.kubeconfig}",
             f"--driver-root-ctr-path={machine.root}", f"--dev-root-ctr-path={machine.root}",
             f"--pod-resources-socket={self.folder}/kubelet.sock", f"--journal={machine.journal}",
             f"--status-dir={machine.status}", *words],
            env=os.environ | {"NODE_NAME": self.name, "POD_NAMESPACE": "gpu-operator"} | environment,
            stderr=open(self.folder / "log", "a"))

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.manager is not None:
            with contextlib.suppress(ProcessLookupError):
                self.manager.send_signal(number)
            self.manager.wait(timeout=20)
            self.manager = None

    def close(self) -> None:
        self.end(signal.SIGKILL)
        self.kubelet.kill()
        self.kubelet.wait()

    def ask(self, layout: str | None) -> None:
        self.api.call("PATCH", f"/api/v1/nodes/{self.name}", {"metadata": {"labels": {"nvidia.com/mig.config": layout}}},
                      "application/merge-patch+json")

    def state(self) -> str:
        feature = self.api.feature(f"nvidia-mig-for-{self.name}") or {"spec": {"labels": {}}}
        return feature["spec"]["labels"].get("nvidia.com/mig.config.state", "")

    def written(self) -> str:
        """Changes with each write of the state."""
        feature = self.api.feature(f"nvidia-mig-for-{self.name}")
        return feature["metadata"]["resourceVersion"] if feature else ""

    def is_divided(self, *devices: str) -> bool:
        return all(self.machine.devices(index) == sorted(devices) for index in range(len(self.machine.uuids)))

    def reaches(self, layout: str, state: str = "success", seconds: float = 20) -> None:
        self.ask(layout)
        wait(lambda: self.state() == state, f"{layout}: {state}", seconds)

    def event(self, reason: str) -> str:
        """The message of the newest event of that reason."""
        events = self.api.call("GET", f"/api/v1/namespaces/default/events?fieldSelector=reason={reason}")["items"]
        return next((one["message"] for one in reversed(events) if one["involvedObject"]["name"] == self.name), "")

    def device_at(self, start: int) -> tuple[str, int]:
        """The UUID and the GPU instance of the MIG device that begins at that memory slice of GPU 0."""
        with self.machine.gpu() as gpu:
            return next((one["uuid"], one["gpu_instance"]) for one in self.machine.mig.devices(gpu)
                        if one["start"] == start)


@pytest.fixture
def node(api, build, tmp_path, request):
    nodes = []

    def make(profile: dict | None = None) -> Node:
        name = f"mig-{abs(hash(request.node.nodeid)) % 10**8}-{len(nodes)}"
        nodes.append(Node(api, build, tmp_path / name, name, profile or gpus(H100)))
        return nodes[-1]

    yield make
    for one in nodes:
        one.close()


def test_the_label_is_what_the_gpus_become(node):
    here = node(gpus(H100, 2))
    here.start(WITH_REBOOT="true", GPU_CLIENTS_FILE="/gpu-clients/clients.yaml")
    here.reaches("all-3g.40gb")
    assert here.is_divided("3g.40gb", "3g.40gb")
    assert "all-3g.40gb" in wait(lambda: here.event("MigConfigApplied"), "the event")
    assert "set, and without effect here: GPU_CLIENTS_FILE, WITH_REBOOT" in (here.folder / "log").read_text()
    here.ask("all-balanced")
    wait(lambda: here.is_divided("1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"), "all-balanced")
    wait(lambda: here.state() == "success", "success")
    status = pathlib.Path(f"/proc/{here.manager.pid}/status").read_text()
    print([line for line in status.splitlines() if line.startswith(("VmRSS", "VmHWM"))])
    # Started again: nothing is written to the driver, which would refuse it.
    here.end()
    for index in (0, 1):
        with here.machine.gpu(index) as gpu:
            here.machine.control.fail(gpu, 999, "nvmlGpuInstanceDestroy")
    before = here.machine.instances(0)
    here.start()
    time.sleep(1)
    assert here.state() == "success" and here.machine.instances(0) == before
    # No wish: what there is stays.
    here.ask(None)
    time.sleep(0.5)
    assert here.state() == "success" and here.machine.instances(0) == before


def test_who_uses_a_gpu_is_not_cut_off(node):
    here = node()
    here.start()
    here.reaches("all-3g.40gb")
    uuid, instance = here.device_at(4)
    here.pods(("train", uuid))
    with here.machine.gpu() as gpu:
        here.machine.control.set_processes(gpu, [f"1=512:compute:train:{instance}/0"])
    before = here.machine.instances()
    here.reaches("all-7g.80gb", "failed")
    message = wait(lambda: here.event("MigConfigHeld"), "the event")
    assert "in use, and nothing is changed: GPU 0: pod default/train; GPU 0: process 1 (" in message
    assert here.machine.instances() == before and not here.machine.journal.exists()
    # One that leaves it its instance is made at once.
    here.reaches("all-balanced")
    assert here.is_divided("1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb")
    assert here.device_at(4)[0] == uuid
    here.reaches("all-7g.80gb", "failed")
    with here.machine.gpu() as gpu:
        here.machine.control.set_processes(gpu, [])
    time.sleep(3)
    assert here.state() == "failed"
    here.pods()
    wait(lambda: here.state() == "success", "the last user has ended")
    assert here.is_divided("7g.80gb")


def test_a_wish_that_cannot_be_met_says_why(node):
    here = node()
    here.start()
    here.reaches("all-1g.10gb")
    before = here.machine.instances()
    here.reaches("all-1g.5gb", "failed")
    assert "mig-configs.all-1g.5gb: no such configuration; there are all-1g.10gb, " in wait(
        lambda: here.event("MigConfigFailed"), "the event")
    assert here.machine.instances() == before
    here.reaches("all-disabled")
    assert here.is_divided()


def test_layouts_of_a_file(node, tmp_path):
    here = node()
    file = tmp_path / "config.yaml"
    text = "version: v1\nmig-configs: {mine: [{devices: all, mig-enabled: true, mig-devices: {%s: 1}}]}\n"
    file.write_text(text % "4g.40gb")
    here.start(CONFIG_FILE=str(file))
    here.reaches("mine")
    assert here.is_divided("4g.40gb")
    file.write_text(text % "2g.20gb")
    wait(lambda: here.is_divided("2g.20gb"), "the new layout")
    here.end()
    file.write_text(text % "1g.20gb")
    here.start(DEFAULT_CONFIG_FILE=str(file))
    wait(lambda: here.is_divided("1g.20gb"), "the default file's layout")


@pytest.mark.parametrize("call", WRITES)
def test_killed_before_each_call_the_next_start_finishes(node, call):
    here = node()
    here.start()
    here.reaches("all-3g.40gb")
    targets = {"all-balanced": ("1g.10gb", "1g.10gb", "2g.20gb", "3g.40gb"), "all-disabled": (),
               "all-3g.40gb": ("3g.40gb", "3g.40gb")}
    for layout, devices in targets.items():
        for number in (1, 2, 3):
            with here.machine.gpu() as gpu:
                here.machine.control.hang(gpu, call, number)
            before = here.machine.instances()
            here.ask(layout)
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline and not (here.is_divided(*devices) and here.state() == "success"):
                if here.machine.journal.exists():
                    time.sleep(0.05)  # it is in the middle: let it come to the call
                    break
                time.sleep(0.01)
            here.end(signal.SIGKILL)
            with here.machine.gpu() as gpu:
                here.machine.control.recover(gpu)
            assert here.machine.journal.exists() or here.machine.instances() == before or here.is_divided(*devices)
            here.start()
            wait(lambda: here.state() == "success" and here.is_divided(*devices), f"{layout} after {call} {number}")
            assert not here.machine.journal.exists()
            if number < 3:
                other = next(one for one in targets if one != layout)
                here.ask(other)
                wait(lambda: here.state() == "success" and here.is_divided(*targets[other]), other)


def test_a_call_that_fails_is_taken_back_and_tried_again(node):
    here = node()
    here.start()
    here.reaches("all-3g.40gb")
    places = [place[1] for place in here.machine.instances()]
    with here.machine.gpu() as gpu:  # each child's second one: taking back is another child's call
        here.machine.control.fail(gpu, 999, "nvmlDeviceCreateGpuInstance", 1)
    here.reaches("all-7g.80gb", "failed")
    assert "UNKNOWN; the earlier layout is restored" in wait(lambda: here.event("MigConfigFailed"), "the event")
    assert here.is_divided("3g.40gb", "3g.40gb") and [place[1] for place in here.machine.instances()] == places
    with here.machine.gpu() as gpu:
        here.machine.control.recover(gpu)
    wait(lambda: here.state() == "success", "the next try")
    assert here.is_divided("7g.80gb")


def test_op2249_a_driver_that_refuses_the_mode_is_named_with_its_code(node):
    here = node()
    here.start()
    here.reaches("all-disabled")
    with here.machine.gpu() as gpu:
        here.machine.control.fail(gpu, 3, "nvmlDeviceSetMigMode")
    here.reaches("all-1g.10gb", "failed")
    said = wait(lambda: here.event("MigConfigFailed"), "the event")
    assert said.startswith("all-1g.10gb: ") and "GPU 0" in said and "NOT_SUPPORTED" in said, said
    assert here.is_divided() and not here.machine.journal.exists()


def test_eight_gpus_in_two_seconds(node):
    here = node(gpus(H100, 8))
    here.start()
    here.reaches("all-disabled")
    took = []
    for layout, devices in [("all-1g.10gb", ["1g.10gb"] * 7), ("all-balanced", ["1g.10gb"] * 2 + ["2g.20gb", "3g.40gb"]),
                            ("all-7g.80gb", ["7g.80gb"]), ("all-disabled", [])] * 3:
        began = time.monotonic()
        here.ask(layout)
        wait(lambda: here.is_divided(*devices) and here.state() == "success", layout)
        took.append(time.monotonic() - began)
    print(f"mig_change_p95 {sorted(took)[-1]:.2f} s, median {sorted(took)[len(took) // 2]:.2f} s")
    assert sorted(took)[-1] < 2
