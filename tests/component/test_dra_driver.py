# SPDX-License-Identifier: Apache-2.0
"""gpu-kubelet-plugin beside a real kube-apiserver, a kubelet's calls and list of pods, and the test bed's GPUs. The build
is $GANTRY_BUILD (default build/release).
"""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from control_plane import ControlPlane, wait
from test_device_plugin import FAKEGPU, machine

DRIVER = "gpu.nvidia.com"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
BOOT_ID = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
CONFIG = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset") as plane:
        wait(lambda: plane.get("/api/v1/namespaces/default"), "the namespace default")
        yield plane


class Node:
    """A Node with a machine, its kubelet's folders and list of pods, and the driver."""

    def __init__(self, plane, build: pathlib.Path, folder: pathlib.Path, name: str, profile: str):
        self.plane, self.build, self.folder, self.name = plane, build, folder, name
        folder.mkdir()
        self.root, self.log, self.cdi = folder / "root", folder / "log", folder / "cdi"
        self.log.touch()
        machine(self.root, build, profile)
        for path in ("registry", "plugins", "device-plugins", "validations"):
            (folder / path).mkdir()
        plane.call("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        self.reg, self.sock = folder / f"registry/{DRIVER}-reg.sock", folder / f"plugins/{DRIVER}/dra.sock"
        self.checkpoint = folder / f"plugins/{DRIVER}/checkpoint.json"
        self.process = self.kubelet = None
        self.list_pods()

    def list_pods(self) -> None:
        """The kubelet's list of pods is served."""
        self.kubelet = subprocess.Popen([self.build / "bin/fake_pod_resources", self.folder / "pods.sock",
                                         self.folder / "pods.json"])
        wait((self.folder / "pods.sock").exists, "the kubelet")

    def start(self, **environment) -> None:
        program = os.environ.get("PLUGIN_PROGRAM", str(self.build / "bin/gantry"))
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'mount --bind {self.root}/dev /dev && exec "$@" 2>> {self.log}', "sh",
             program, "gpu-kubelet-plugin", f"--kubelet-registrar-directory-path={self.folder}/registry",
             f"--kubelet-plugins-directory-path={self.folder}/plugins", f"--cdi-root={self.cdi}",
             f"--container-driver-root={self.root}", f"--host-root={self.root}",
             f"--pod-resources-socket={self.folder}/pods.sock",
             f"--status-dir={self.folder}/validations",
             f"--device-plugin-directory={self.folder}/device-plugins", "--nvidia-cdi-hook-path=/usr/bin/nvidia-ctk"],
            env=os.environ | {"KUBECONFIG": str(self.plane.kubeconfig), "NODE_NAME": self.name} | environment)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    def close(self) -> None:
        for process in (self.process, self.kubelet):
            if process is not None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                process.wait()

    def control(self, *words) -> None:
        """A command to the fake machine."""
        subprocess.run([sys.executable, FAKEGPU / "fakegpu.py", "control", "--root", self.root, *words], check=True)

    def uuids(self) -> list[str]:
        return [gpu["uuid"] for gpu in json.loads((self.root / "opt/fakegpu/machine.json").read_text())["gpus"]]

    def owned(self, *uuids: str, exclusive: bool = False) -> int:
        """Another program has these GPUs from now on; a descriptor of the file, or folder, that tells who still reads."""
        path = self.folder / "validations/.gpu-owners.json"
        earlier = os.open(path if path.exists() else path.parent, os.O_RDONLY)
        text = {"version": "v1", "boot": BOOT_ID,
                "gpus": {uuid: {"program": "mig-change", "reason": "the layout", "exclusive": exclusive} for uuid in uuids}}
        path.with_suffix(".new").write_text(json.dumps(text))
        path.with_suffix(".new").rename(path)
        return earlier

    def slices(self) -> list[dict]:
        return self.plane.get(f"{SLICES}?fieldSelector=spec.nodeName={self.name}")["items"]

    def devices(self) -> list[str] | None:
        """Their names, in order; None without a slice."""
        slices = self.slices()
        return [one["name"] for item in slices for one in item["spec"].get("devices", [])] if slices else None

    def publishes(self, names: list[str]) -> None:
        try:
            wait(lambda: self.devices() == names, f"the devices {names}")
        except AssertionError as error:
            raise AssertionError(f"{error}; there are {self.devices()}; {self.text()}") from error

    def text(self) -> str:
        return self.log.read_text()

    def call(self, *words) -> dict:
        return json.loads(subprocess.run([self.build / "bin/fake_dra_kubelet", *map(str, words)], check=True, text=True,
                                         capture_output=True, timeout=60).stdout)

    def claim(self, name: str, device: str, parameters=None) -> str:
        """The UID of a new claim, to which that device is allocated."""
        requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
        config = [] if parameters is None else [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
        made = self.plane.call("POST", CLAIMS, {"metadata": {"name": name},
                                                "spec": {"devices": {"requests": requests, "config": config}}})
        results = [{"request": "r", "driver": DRIVER, "pool": self.name, "device": device}]
        made["status"] = {"allocation": {"devices": {"results": results,
                                                     "config": [{"source": "FromClaim"} | one for one in config]}},
                          "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}
        self.plane.call("PUT", f"{CLAIMS}/{name}/status", made)
        return made["metadata"]["uid"]

    def prepare(self, uid: str, name: str, version: str = "v1") -> dict:
        return self.call("prepare", version, self.sock, "default", uid, name)

    def unprepare(self, uid: str, name: str, version: str = "v1") -> dict:
        return self.call("unprepare", version, self.sock, "default", uid, name)

    def document(self, uid: str) -> pathlib.Path:
        return self.cdi / f"k8s.gpu.nvidia.com-claim_{uid}.yaml"

    def prepared(self) -> dict:
        """The claims of the checkpoint, by UID."""
        return json.loads(self.checkpoint.read_text())["v2"].get("preparedClaims", {})


@pytest.fixture
def node(plane, build, request):
    nodes = []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dra-"))  # a socket's path has room for 107 characters

    def make(profile: str = "8xa100-80", start: bool = True) -> Node:
        name = f"dra-{abs(hash(request.node.nodeid)) % 10**8}-{len(nodes)}"
        nodes.append(Node(plane, build, folder / str(len(nodes)), name, profile))
        if start:
            nodes[-1].start()
        return nodes[-1]

    yield make
    for one in nodes:
        one.close()
    shutil.rmtree(folder)


GPUS = [f"gpu-{minor}" for minor in range(8)]


def test_the_nodes_gpus_are_published_and_come_back(plane, node):
    """dra#330: deleted by anybody, a slice is back at once; a restart writes nothing."""
    one = node()
    one.publishes(GPUS)
    (first,) = one.slices()
    assert first["metadata"]["name"].startswith(f"00000-{DRIVER}-")
    owner = plane.get(f"/api/v1/nodes/{one.name}")["metadata"]["uid"]
    assert [o["uid"] for o in first["metadata"]["ownerReferences"]] == [owner]
    attributes = first["spec"]["devices"][3]["attributes"]
    assert attributes["type"] == {"string": "gpu"} and attributes["architecture"] == {"string": "Ampere"}
    assert attributes["cudaComputeCapability"] == {"version": "8.0.0"}
    assert attributes["uuid"]["string"].startswith("GPU-")
    for _ in range(2):
        name = one.slices()[0]["metadata"]["name"]
        plane.call("DELETE", f"{SLICES}/{name}")
        wait(lambda: one.slices() and one.slices()[0]["metadata"]["name"] != name, "another slice", 2)  # noqa: B023
    before = one.slices()
    assert one.end() == 0
    assert one.slices() == before
    one.start()
    wait(lambda: one.text().count("devices, driver") == 2, "the second start")
    wait(one.sock.exists, "its socket")
    assert one.call("info", one.reg)["name"] == DRIVER
    assert one.slices() == before


def test_a_changed_slice_is_put_right(plane, node):
    one = node()
    one.publishes(GPUS)
    name = one.slices()[0]["metadata"]["name"]
    plane.patch(f"{SLICES}/{name}", [{"op": "remove", "path": "/spec/devices/0"}])
    one.publishes(GPUS)
    assert one.slices()[0]["metadata"]["name"] == name


def test_the_kubelet_registers_it(node):
    one = node()
    wait(one.reg.exists, "the registration")
    info = one.call("info", one.reg)
    assert info == {"type": "DRAPlugin", "name": DRIVER, "endpoint": str(one.sock),
                    "versions": ["v1.DRAPlugin", "v1beta1.DRAPlugin"]}
    assert one.call("notify", one.reg) == {}
    wait(lambda: "is registered with the kubelet" in one.text(), "the registration")
    assert one.end() == 0
    assert not one.reg.exists() and not one.sock.exists()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_claim_gets_its_gpu_and_survives_a_kill(node, version):
    one = node()
    one.publishes(GPUS)
    uid = one.claim(f"killed-{version}", "gpu-3", CONFIG)
    answer = one.prepare(uid, f"killed-{version}", version)
    assert answer == {"devices": [{"requests": ["r"], "pool": one.name, "device": "gpu-3",
                                   "cdi": [f"k8s.gpu.nvidia.com/claim={uid}-gpu-3"]}]}
    document = json.loads(one.document(uid).read_text())
    assert [node["path"] for node in document["devices"][0]["containerEdits"]["deviceNodes"]] == ["/dev/nvidia3"]
    assert "NVIDIA_VISIBLE_DEVICES=void" in document["containerEdits"]["env"]
    assert one.prepared()[uid]["checkpointState"] == "PrepareCompleted"

    other = one.claim(f"other-{version}", "gpu-3")
    assert f"already allocated to different claim {uid}" in one.prepare(other, f"other-{version}")["error"]

    one.end(signal.SIGKILL)
    one.start()
    wait(lambda: "error" not in one.call("info", one.reg), "the registration")
    assert one.prepare(uid, f"killed-{version}", version) == answer
    assert one.unprepare(uid, f"killed-{version}", version) == {}
    assert not one.document(uid).exists() and one.prepared() == {}
    assert one.unprepare(uid, f"killed-{version}", version) == {}
    assert "error" not in one.prepare(other, f"other-{version}")


def test_mig_devices_that_exist(node):
    one = node("8xa100-80-mig")
    names = wait(one.devices, "a slice")
    assert names and all("-mig-" in name for name in names) and names == sorted(names, key=lambda n: (n.split("-")[1]))
    device = one.slices()[0]["spec"]["devices"][0]
    assert device["attributes"]["parentUUID"]["string"].startswith("GPU-")
    assert device["attributes"]["uuid"]["string"].startswith("MIG-")
    assert any(key.startswith("memorySlice") for key in device["capacity"])
    uid = one.claim("mig", names[0])
    assert "error" not in one.prepare(uid, "mig")
    document = json.loads(one.document(uid).read_text())
    nodes = [node["path"] for node in document["devices"][0]["containerEdits"]["deviceNodes"]]
    assert "/dev/nvidia0" in nodes and sum("/dev/nvidia-caps/" in path for path in nodes) == 2


def test_gpus_of_a_device_plugin_are_left_out(node):
    one = node(start=False)
    gpus = json.loads((one.root / "opt/fakegpu/machine.json").read_text())["gpus"]
    offered = one.folder / "pods.json.allocatable"
    offered.write_text(json.dumps([{"resource": "nvidia.com/gpu", "ids": [gpus[0]["uuid"]]}]))
    one.start()
    one.publishes(GPUS[1:])
    # A device plugin that comes later, and one that ends: its GPUs may still be in use.
    offered.write_text(json.dumps([{"resource": "nvidia.com/gpu", "ids": [gpu["uuid"] for gpu in gpus[:2]]}]))
    (one.folder / "device-plugins/nvidia-gpu.sock").touch()
    one.publishes(GPUS[2:])
    offered.write_text("[]")
    (one.folder / "device-plugins/nvidia-gpu.sock").unlink()
    # What a pod holds is refused, whatever is published.
    (one.folder / "pods.json").write_text(json.dumps([{"namespace": "ns", "name": "holder", "container": "c",
                                                       "resource": "nvidia.com/gpu", "ids": [gpus[5]["uuid"]]}]))
    uid = one.claim("held", "gpu-5")
    assert "pod ns/holder has device gpu-5 from a device plugin" in one.prepare(uid, "held")["error"]
    (one.folder / "pods.json").write_text("[]")
    assert "error" not in one.prepare(uid, "held")
    assert one.devices() == GPUS[2:]


def is_let_go(earlier: int) -> bool:
    """Whether no reader acts on that file of owners any more."""
    try:
        fcntl.flock(earlier, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(earlier, fcntl.LOCK_UN)
    return True


def test_a_gpu_that_another_program_takes_leaves_the_slice_until_it_is_back(node):
    one = node()
    one.publishes(GPUS)
    first = one.owned(one.uuids()[2])
    wait(lambda: is_let_go(first), "the driver to let go")
    assert one.devices() == GPUS[:2] + GPUS[3:]
    taken = one.claim("taken", "gpu-2")
    assert "device gpu-2 is not given out for now: mig-change: the layout" in one.prepare(taken, "taken")["error"]
    second = one.owned()
    wait(lambda: is_let_go(second), "the driver to take it back")
    assert one.devices() == GPUS
    assert "error" not in one.prepare(taken, "taken")
    os.close(first)
    os.close(second)


def test_who_takes_a_gpu_waits_for_the_claims_of_it(plane, node):
    """Also for one that is allocated and not prepared yet: its pod is on its way."""
    one = node()
    one.publishes(GPUS)
    one.claim("waited-for", "gpu-2")
    earlier = one.owned(one.uuids()[2], exclusive=True)
    one.publishes(GPUS[:2] + GPUS[3:])
    wait(lambda: "waits for GPUs that claims have: default/waited-for" in one.text(), "the claim to be named")
    assert not is_let_go(earlier)
    plane.call("DELETE", f"{CLAIMS}/waited-for")
    wait(lambda: is_let_go(earlier), "the driver to let go")
    os.close(earlier)


def test_a_lost_gpu_alone_leaves_the_slice_at_once_and_comes_back(node):
    """dra#904, dra#1455."""
    one = node()
    one.publishes(GPUS)
    lost_at = time.monotonic()
    one.control("lose", "4")
    wait(lambda: one.devices() == GPUS[:4] + GPUS[5:], "the slice without it", 5)
    assert time.monotonic() - lost_at < 2
    assert "is out of service" in one.text()
    one.control("recover", "4")
    wait(lambda: one.devices() == GPUS, "the GPU's return", 60)


def test_a_gpu_whose_device_node_comes_late_is_published(node):
    one = node(start=False)
    late = one.root / "dev/nvidia7"
    number = late.stat().st_rdev
    late.unlink()
    one.start()
    one.publishes(GPUS[:7])
    os.mknod(late, 0o020666, number)
    one.publishes(GPUS)


def test_the_validators_file_says_where_the_driver_is(node):
    one = node(start=False)
    one.start(WAIT_FOR_VALIDATIONS="driver-ready")
    wait(lambda: "waiting for driver-ready" in one.text(), "the driver to wait")
    assert one.devices() is None
    (one.folder / "validations/driver-ready").write_text(
        f"NVIDIA_DRIVER_ROOT=/run/nvidia/driver\nDRIVER_ROOT_CTR_PATH={one.root}\nGANTRY_BOOT_ID={BOOT_ID}\n")
    one.publishes(GPUS)
    uid = one.claim("rooted", "gpu-0")
    assert "error" not in one.prepare(uid, "rooted")
    assert "/run/nvidia/driver" in one.document(uid).read_text()


def test_without_the_kubelets_word_nothing_is_published(node):
    one = node(start=False)
    one.kubelet.kill()
    one.kubelet.wait()
    (one.folder / "pods.sock").unlink()
    one.start()
    wait(lambda: "trying again" in one.text(), "the complaint")
    assert one.devices() is None
    one.list_pods()
    one.publishes(GPUS)


def test_a_nodes_capacity_says_that_a_device_plugin_was_there(plane, node):
    one = node(start=False)
    plane.patch(f"/api/v1/nodes/{one.name}/status", {"status": {"capacity": {"nvidia.com/gpu": "8"}}})
    one.start()
    one.publishes([])
    assert "a device plugin of this node gives out its GPU" in one.text()


def test_parameters_of_users_end_nothing(node):
    one = node()
    one.publishes(GPUS)
    hostile = [{}, {"kind": "GpuConfig"}, CONFIG | {"sharing": {}}, CONFIG | {"sharing": []}, CONFIG | {"x": 1},
               CONFIG | {"sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {}}},
               CONFIG | {"sharing": {"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": []}}},
               CONFIG | {"kind": "VfioDeviceConfig"}, CONFIG | {"sharing": "x" * 9000}]
    for number, parameters in enumerate(hostile):
        uid = one.claim(f"hostile-{number}", "gpu-0", parameters)
        assert "parameters" in one.prepare(uid, f"hostile-{number}")["error"] or "gate" in one.prepare(
            uid, f"hostile-{number}")["error"]
    assert one.process.poll() is None
    uid = one.claim("good", "gpu-0", CONFIG)
    assert "error" not in one.prepare(uid, "good")


def test_what_no_claim_has_any_more_is_cleaned_at_the_start(plane, node):
    one = node()
    one.publishes(GPUS)
    kept, gone = one.claim("kept", "gpu-0"), one.claim("gone", "gpu-1")
    for uid, name in ((kept, "kept"), (gone, "gone")):
        assert "error" not in one.prepare(uid, name)
    one.end(signal.SIGKILL)
    plane.patch(f"{CLAIMS}/gone", {"metadata": {"finalizers": []}})
    plane.call("DELETE", f"{CLAIMS}/gone")
    wait(lambda: plane.get(f"{CLAIMS}/gone") is None, "the end of the claim")
    one.document("orphan").write_text("{}")
    one.start()
    wait(lambda: list(one.prepared()) == [kept], "the clean checkpoint")
    assert not one.document("orphan").exists() and not one.document(gone).exists() and one.document(kept).exists()


def test_a_damaged_checkpoint_is_made_anew_from_the_claims(node):
    """dra#1080, dra#1100, dra#1326: no crash loop."""
    one = node()
    one.publishes(GPUS)
    uid = one.claim("damaged", "gpu-2")
    assert "error" not in one.prepare(uid, "damaged")
    one.end(signal.SIGKILL)
    one.checkpoint.write_text(one.checkpoint.read_text().replace("gpu-2", "gpu-4"))
    one.start()
    wait(lambda: "the checkpoint is made anew" in one.text(), "the new checkpoint")
    assert "checkpoint failed checksum verification" in one.text()
    assert list(one.prepared()) == [uid] and one.document(uid).exists()
    assert len(list(one.checkpoint.parent.glob("checkpoint.json.corrupt-*"))) == 1
    other = one.claim("late", "gpu-2")
    assert "already allocated" in one.prepare(other, "late")["error"]


def test_without_the_hook_program_nothing_is_published(node):
    one = node(start=False)
    (one.root / "usr/bin/nvidia-ctk").rename(one.root / "usr/bin/later")
    one.start()
    wait(lambda: "the node has no program /usr/bin/nvidia-ctk" in one.text(), "the complaint")
    assert one.devices() is None
    (one.root / "usr/bin/later").rename(one.root / "usr/bin/nvidia-ctk")
    one.publishes(GPUS)


def test_a_node_that_is_made_anew_has_a_slice_of_its_own(plane, node):
    one = node()
    one.publishes(GPUS)
    plane.call("DELETE", f"/api/v1/nodes/{one.name}")
    uid = plane.call("POST", "/api/v1/nodes", {"metadata": {"name": one.name}})["metadata"]["uid"]
    plane.call("DELETE", f"{SLICES}/{one.slices()[0]['metadata']['name']}")  # as garbage collection does
    one.publishes(GPUS)
    assert one.slices()[0]["metadata"]["ownerReferences"][0]["uid"] == uid


def test_only_one_instance_runs(node):
    one = node()
    one.publishes(GPUS)
    first = one.process
    one.start()
    assert one.process.wait(20) == 1
    assert "another instance of the driver runs" in one.text()
    one.process = first
    assert one.call("info", one.reg)["name"] == DRIVER


def test_a_gate_that_is_not_served_is_named(node):
    one = node(start=False)
    one.start(FEATURE_GATES="DynamicMIG=true")
    assert one.process.wait(20) == 2
    assert "DynamicMIG is not supported" in one.text()
