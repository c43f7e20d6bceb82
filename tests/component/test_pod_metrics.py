# SPDX-License-Identifier: Apache-2.0
"""Who uses the GPUs, as dcgm-exporter's metrics tell it: pods by the kubelet's list, processes and cgroups, labels and
resource claims by a real API server, jobs by files. Folders of the node are below the exporter's root.
"""

import collections
import json
import random
import re
import time
import uuid as uuids

import pytest

from control_plane import ControlPlane, wait
from test_metrics_exporter import Exporter, exporter, pod_of  # noqa: F401

FOLDERS = "device-plugins", "pods"
UIDS = [str(uuids.UUID(int=n)) for n in range(1, 41)]


def kubelet_folder(one):
    """Where the kubelet's folders are below the host's root: beside that of its socket."""
    return one.root / str(one.folder.parent).lstrip("/")


def with_kubelet(exporter, profile, *words):  # noqa: F811
    one = exporter(profile, "-k", *words, start=False)
    for name in FOLDERS:
        (kubelet_folder(one) / name).mkdir(parents=True)
    return one


class Node:
    """Pods of a node: their logs, cgroups and processes."""

    def __init__(self, one, version=2):
        self.one = one
        self.pods = one.root / ("sys/fs/cgroup/kubepods.slice" if version == 2 else "sys/fs/cgroup/memory/kubepods")
        self.version = version
        self.pods.mkdir(parents=True, exist_ok=True)

    def cgroup(self, uid):
        return self.pods / (f"kubepods-pod{uid.replace('-', '_')}.slice" if self.version == 2 else f"pod{uid}")

    def start(self, name, uid):
        (self.cgroup(uid) / "77").mkdir(parents=True)
        (self.one.root / f"var/log/pods/team_{name}_{uid}").mkdir(parents=True)

    def end(self, name, uid):
        """The kubelet leaves the logs for a while."""
        (self.cgroup(uid) / "77").rmdir()
        self.cgroup(uid).rmdir()
        (self.one.root / f"var/log/pods/team_{name}_{uid}").rmdir()

    def process(self, pid, uid=None):
        folder = self.one.root / f"proc/{pid}"
        folder.mkdir(parents=True, exist_ok=True)
        path = "/system.slice/ssh.service" if uid is None else "/" + "/".join(self.cgroup(uid).parts[-2:]) + "/77"
        (folder / "cgroup").write_text(f"0::{path}\n" if self.version == 2 else f"12:memory:{path}\n0::/\n")


def shares(samples):
    """Values of one GPU by pod, "other", "rest" or None, the device."""
    keys = [s.labels.get("pod") or s.labels.get("share") for s in samples]
    assert len(keys) == len(set(keys)), "each series once"
    return dict(zip(keys, (s.value for s in samples)))


def calls(one):
    file = one.folder / "pods.json.calls"
    return file.stat().st_size if file.exists() else 0


def started(one):
    """Beside a kubelet without pods: the first of its two GPUs, and what it has asked the kubelet until all is quiet."""
    one.pods()
    wait(lambda: (one.folder / "kubelet.sock").exists(), "the kubelet")
    one.start()
    first, _ = (gpu["uuid"] for gpu in one.gpus())
    wait(lambda: len(one.samples("DCGM_FI_DEV_GPU_TEMP")) == 2, "metrics")
    time.sleep(1)
    return first, calls(one)


def test_the_kubelet_is_asked_when_its_folders_change(exporter):  # noqa: F811
    one = with_kubelet(exporter, "2xt4")
    first, before = started(one)
    for _ in range(20):
        one.get()
    time.sleep(1)
    assert calls(one) == before, "neither in a scrape nor in each interval"
    one.pods(("team", "job", "main", "nvidia.com/gpu", [first]))
    (kubelet_folder(one) / "device-plugins/kubelet_internal_checkpoint").write_text("{}")
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}, "the pod", 5)
    one.pods()
    (kubelet_folder(one) / "pods/x").mkdir()
    (kubelet_folder(one) / "pods/x").rmdir()
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP")) == {(None, None, None)}, "no pod", 5)
    assert calls(one) <= before + 6


def test_dcgm_exporter_599_scrapes_ask_neither_driver_nor_kubelet(exporter):  # noqa: F811
    """GPUs in MIG mode with many pods: what a scrape costs does not depend on who has to be asked."""
    profile = {"gpus": [{"product": "NVIDIA A100-SXM4-80GB", "count": 8, "mig_devices": ["1g.10gb"] * 7}]}
    one = with_kubelet(exporter, profile, "--collect-interval=3600000", "--enable-exporter-metrics")
    uuids = [re.findall(r"MIG-\S+", one.control("mig", str(n), "list")) for n in range(8)]
    one.pods(*[("team", f"p{gpu}-{n}", "c", "nvidia.com/mig-1g.10gb", [uuid]) for gpu, of in enumerate(uuids)
               for n, uuid in enumerate(of)])
    wait(lambda: (one.folder / "kubelet.sock").exists(), "the kubelet")
    one.start()
    wait(lambda: len(pod_of(one.samples("DCGM_FI_DEV_FB_USED"))) == 56, "all pods", 30)
    time.sleep(1)
    nvml = lambda: one.samples("dcgm_exporter_nvml_calls_total")[0].value  # noqa: E731
    before = nvml(), calls(one)
    for _ in range(50):
        one.get()
    assert (nvml(), calls(one)) == before


def test_a_kubelet_with_another_root(exporter):  # noqa: F811
    """Its folder of devices stays where Kubernetes has it; those of pods and sockets move."""
    one = exporter("2xt4", "-k", "--kubelet-root=/data/kubelet", start=False)
    plugins, pods = one.root / "var/lib/kubelet/device-plugins", one.root / "data/kubelet/pods"
    for folder in (plugins, pods):
        folder.mkdir(parents=True)
    first, before = started(one)
    time.sleep(1)
    assert calls(one) == before, "not in each interval"
    one.pods(("team", "job", "main", "nvidia.com/gpu", [first]))
    (plugins / "kubelet_internal_checkpoint").write_text("{}")
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}, "the pod", 5)
    one.pods()
    (pods / "x").mkdir()
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP")) == {(None, None, None)}, "no pod", 5)


def test_an_answer_of_6_mib(exporter):  # noqa: F811
    """dcgm-exporter#509."""
    one = exporter("2xt4", "-k")
    uuid = one.gpus()[0]["uuid"]
    one.pods(*[("team", f"p{n}", "c", "example.com/cpu", [f"{n}-{i}-" + "x" * 50 for i in range(100)])
               for n in range(1100)], ("team", "job", "main", "nvidia.com/gpu", [uuid]))
    assert (one.folder / "pods.json").stat().st_size > 6 << 20
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}, "the last pod")


def test_a_kubelet_that_is_slow_or_away_takes_no_pod(exporter):  # noqa: F811
    one = with_kubelet(exporter, "2xt4", "--collect-interval=20000")
    uuid = one.gpus()[0]["uuid"]
    one.pods(("team", "job", "main", "nvidia.com/gpu", [uuid]))
    wait(lambda: (one.folder / "kubelet.sock").exists(), "the kubelet")
    one.start()
    held = lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}  # noqa: E731
    wait(held, "the pod")
    (one.folder / "pods.json").write_text("slow")
    (kubelet_folder(one) / "pods/x").mkdir()
    before = calls(one)
    wait(lambda: calls(one) > before, "a call that hangs")
    wait(lambda: "no news of pods" in one.log.read_text(), "after 10 s", 20)
    assert held()
    one.kubelet.terminate()
    one.kubelet.wait()
    (one.folder / "kubelet.sock").unlink(missing_ok=True)
    wait(lambda: one.log.read_text().count("no news of pods") == 2, "no socket", 20)
    assert held()


@pytest.mark.parametrize("version", [1, 2])
def test_each_pod_of_a_shared_gpu_has_what_its_processes_use(exporter, version):  # noqa: F811
    """dcgm-exporter#307 and #582; and #521: a process in no pod."""
    one = exporter("8xh100-80", "-k", "--kubernetes-virtual-gpus", start=False)
    uuid, node = one.gpus()[0]["uuid"], Node(one, version)
    for n in range(3):
        node.start(f"p{n}", UIDS[n])
    for pid, uid in ((1001, UIDS[0]), (1002, UIDS[0]), (1003, UIDS[1]), (1004, None)):
        node.process(pid, uid)
    one.pods(*[("team", f"p{n}", "c", "nvidia.com/gpu.shared", [f"{uuid}::{n}"]) for n in range(3)])
    one.control("processes", "0", "1001=100::::20", "1002=50:mps:::10", "1003=7:graphics:::5", "1004=3::::15")
    one.control("set", "0", "utilization_gpu=80", "power=200")
    one.start()

    def of(name):
        return shares([s for s in one.samples(name) if s.labels["gpu"] == "0"])
    wait(lambda: len(of("DCGM_FI_DEV_FB_USED")) == 5, "the device, three pods and the rest")
    assert of("DCGM_FI_DEV_FB_USED") == {None: 160, "p0": 150, "p1": 7, "p2": 0, "other": 3}
    assert of("DCGM_FI_DEV_GPU_UTIL") == {None: 80, "p0": 30, "p1": 5, "p2": 0, "other": 15, "rest": 30}
    assert of("DCGM_FI_DEV_POWER_USAGE") == pytest.approx(
        {None: 200, "p0": 60, "p1": 10, "p2": 0, "other": 30, "rest": 100})
    wait(lambda: of("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")["p1"] > 1000, "a joule")
    energy = of("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
    assert sum(value for key, value in energy.items() if key) == pytest.approx(energy[None], rel=0.01)
    assert energy["p0"] == pytest.approx(6 * energy["p1"], rel=0.01) and energy["p2"] == 0
    assert {s.labels.get("pod_uid") for s in one.samples("DCGM_FI_DEV_FB_USED")} == {*UIDS[:3], None}
    # Other GPUs have one series each.
    assert len(one.samples("DCGM_FI_DEV_FB_USED")) == 5 + 7


def test_shared_mig_devices(exporter):  # noqa: F811
    one = exporter({"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["3g.20gb", "1g.5gb"]}]},
                   "-k", "--kubernetes-virtual-gpus", start=False)
    node = Node(one)
    [(uuid, gi)] = re.findall(r"(MIG-\S+) 3g.20gb gi=(\d+)", one.control("mig", "0", "list"))
    for n, pid in enumerate((1001, 1002)):
        node.start(f"p{n}", UIDS[n])
        node.process(pid, UIDS[n])
    one.pods(*[("team", f"p{n}", "c", "nvidia.com/mig-3g.20gb.shared", [f"{uuid}::{n}"]) for n in range(2)])
    one.control("processes", "0", f"1001=100:compute::{gi}/0,1002=20:compute::{gi}/0")
    one.start()
    used = wait(lambda: (got := shares([s for s in one.samples("DCGM_FI_DEV_FB_USED")
                                        if s.labels["GPU_I_PROFILE"] == "3g.20gb"])) and len(got) == 4 and got, "four series")
    assert (used["p0"], used["p1"]) == (100, 20)
    assert used[None] == used["p0"] + used["p1"] + used["other"]


def test_thread_09_churn_of_pods_on_one_gpu(exporter):  # noqa: F811
    """200 changes among 10 places: sums hold, no series comes twice, and none outlives its pod's last container."""
    one = exporter("2xt4", "-k", "--kubernetes-virtual-gpus", start=False)
    uuid, node, dice, running = one.gpus()[0]["uuid"], Node(one), random.Random(307), {}
    one.pods()
    one.start()
    names = collections.Counter()
    for turn in range(200):
        place = dice.randrange(10)
        if place in running:
            node.end(*running.pop(place)[:2])
        else:
            names[place] += 1
            pod = f"p{place}-{names[place]}", UIDS[turn % len(UIDS)] if turn < len(UIDS) else str(uuids.UUID(int=1000 + turn))
            node.start(*pod)
            node.process(2000 + turn, pod[1])
            running[place] = (*pod, 2000 + turn)
        one.pods(*[("team", pod[0], "c", "nvidia.com/gpu.shared", [f"{uuid}::{place}"])
                   for place, pod in sorted(running.items())])
        one.control("processes", "0", "99=5", *[f"{pod[2]}={dice.randrange(1, 500)}::::{dice.randrange(10)}"
                                                for pod in running.values()])
        if turn % 10 != 9:
            got = one.samples("DCGM_FI_DEV_FB_USED")  # between two states, but never twice
            labels = [tuple(sorted(s.labels.items())) for s in got]
            assert len(labels) == len(set(labels))
            continue
        expected = {pod[0] for pod in running.values()}
        of_gpu = lambda name: [s for s in one.samples(name) if s.labels["gpu"] == "0"]  # noqa: E731
        wait(lambda: {s.labels["pod"] for s in of_gpu("DCGM_FI_DEV_FB_USED") if "pod" in s.labels} == expected,
             f"the pods of turn {turn}", 5)
        time.sleep(0.3)
        for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE"):
            values = shares(of_gpu(name))
            device = values.pop(None)
            if len(expected) > 0:
                assert sum(values.values()) == pytest.approx(device, rel=0 if "FB" in name else 0.01), name
    assert one.process.poll() is None


def test_a_pod_without_a_container_has_no_series_within_an_interval(exporter):  # noqa: F811
    """Whatever the kubelet says."""
    one = exporter("2xt4", "-k", "--kubernetes-virtual-gpus", start=False)
    uuid, node = one.gpus()[0]["uuid"], Node(one)
    for n in range(2):
        node.start(f"p{n}", UIDS[n])
    one.pods(*[("team", f"p{n}", "c", "nvidia.com/gpu.shared", [f"{uuid}::{n}"]) for n in range(2)])
    one.start()
    pods = lambda: {s.labels.get("pod") for s in one.samples("DCGM_FI_DEV_GPU_TEMP")}  # noqa: E731
    wait(lambda: pods() == {None, "p0", "p1"}, "both")
    (node.cgroup(UIDS[1]) / "77").rmdir()
    wait(lambda: pods() == {None, "p0"}, "the one that runs", 1)


def test_jobs(exporter, tmp_path):  # noqa: F811
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    (jobs / "0").write_text("17\n18\n")
    one = exporter("2xt4", f"--hpc-job-mapping-dir={jobs}")
    by_job = lambda: {(s.labels["gpu"], s.labels.get("hpc_job")) for s in one.samples("DCGM_FI_DEV_GPU_TEMP")}  # noqa: E731
    wait(lambda: by_job() == {("0", "17"), ("0", "18"), ("1", None)}, "two jobs")
    (jobs / "1").write_text("19\n")
    (jobs / "0").unlink()
    wait(lambda: by_job() == {("0", None), ("1", "19")}, "the next", 5)


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "namespace") as running:
        running.call("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        yield running


def make_pod(plane, name, node, labels):
    return plane.call("POST", "/api/v1/namespaces/team/pods", {
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "x"}]}})["metadata"]["uid"]


def test_labels_and_uids_of_pods(exporter, plane):  # noqa: F811
    one = exporter("2xt4", "-k", "--kubernetes-enable-pod-labels", "--kubernetes-enable-pod-uid",
                   "--kubernetes-pod-label-allowlist-regex=^app,gpu", f"--kubeconfig={plane.kubeconfig}")
    uid = make_pod(plane, "job", "n1", {"app.kubernetes.io/name": "train", "gpu": "7", "team": "red"})
    make_pod(plane, "elsewhere", "n2", {"app": "other"})
    one.pods(("team", "job", "main", "nvidia.com/gpu", [one.gpus()[0]["uuid"]]))
    sample = wait(lambda: next((s for s in one.samples("DCGM_FI_DEV_GPU_TEMP") if "pod_uid" in s.labels), None), "the uid")
    assert sample.labels["pod_uid"] == uid and sample.labels["app_kubernetes_io_name"] == "train"
    assert sample.labels["gpu"] == "0" and "team" not in sample.labels
    plane.call("PATCH", "/api/v1/namespaces/team/pods/job", {"metadata": {"labels": {"app.kubernetes.io/name": "serve"}}},
               "application/merge-patch+json")
    wait(lambda: any(s.labels.get("app_kubernetes_io_name") == "serve" for s in one.samples("DCGM_FI_DEV_GPU_TEMP")),
         "the new label", 5)
    audit = [json.loads(line) for line in (plane.folder / "audit").read_text().splitlines()]
    asked = [entry["requestURI"] for entry in audit if "dcgm-exporter" in entry.get("userAgent", "")]
    assert asked and all("spec.nodeName%3Dn1" in uri or "spec.nodeName=n1" in uri for uri in asked), asked


def test_thread_08_claims_have_a_uid_and_labels(exporter, plane):  # noqa: F811
    """dcgm-exporter#718, and MIG devices (#657's neighbour): a claim's device by the driver's ResourceSlices."""
    one = exporter({"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["1g.5gb"]},
                             {"product": "NVIDIA A100-SXM4-40GB"}]},
                   "-k", "--kubernetes-enable-dra", "--kubernetes-enable-pod-uid", f"--kubeconfig={plane.kubeconfig}")
    [mig] = re.findall(r"(MIG-\S+) 1g.5gb", one.control("mig", "0", "list"))
    uid = make_pod(plane, "claimer", "n1", {})
    one.pods(("team", "claimer", "main", "", [], [{"claim": "big", "pool": "n1", "device": "gpu-1"},
                                                  {"claim": "small", "pool": "n1", "device": "mig-0"}]))

    def publish(name, count, device, uuid, **more):
        attributes = {"uuid": {"string": uuid}} | {key: {"string": value} for key, value in more.items()}
        plane.call("POST", "/apis/resource.k8s.io/v1/resourceslices", {
            "metadata": {"name": name}, "spec": {
                "driver": "gpu.nvidia.com", "nodeName": "n1", "devices": [{"name": device, "attributes": attributes}],
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": count}}})
    claims = lambda: {s.labels.get("dra_claim_name"): s for s in one.samples("DCGM_FI_DEV_FB_USED")}  # noqa: E731
    publish("one", 2, "gpu-1", one.gpus()[1]["uuid"])
    wait(lambda: claims(), "metrics")
    time.sleep(1)
    assert set(claims()) == {None}, "half a pool is none"
    publish("two", 2, "mig-0", mig, profile="1g.5gb")
    got = wait(lambda: (found := claims()) and {"big", "small"} <= set(found) and found, "both claims", 10)
    for name, sample in got.items():
        assert sample.labels["pod_uid"] == uid and sample.labels["pod"] == "claimer", name
        assert sample.labels["dra_driver_name"] == "gpu.nvidia.com" and sample.labels["dra_pool_name"] == "n1"
    assert got["big"].labels["gpu"] == "1" and "dra_mig_profile" not in got["big"].labels
    small = got["small"].labels
    assert (small["dra_mig_profile"], small["dra_mig_device_uuid"], small["dra_device_name"]) == ("1g.5gb", mig, "mig-0")


def test_a_pod_that_only_looks_at_gpus_hides_nobody(exporter, plane):  # noqa: F811
    """A claim with adminAccess, as monitoring has it: the GPU is its user's."""
    one = exporter("2xt4", "-k", "--kubernetes-enable-dra", f"--kubeconfig={plane.kubeconfig}", "--node-name=admin")
    plane.call("POST", "/api/v1/namespaces", {"metadata": {
        "name": "watchers", "labels": {"resource.kubernetes.io/admin-access": "true"}}})
    for ns, name, admin in (("team", "uses", False), ("watchers", "looks", True)):
        request = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All", **({"adminAccess": True} if admin else {})}
        path = f"/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims"
        claim = plane.call("POST", path, {"metadata": {"name": name},
                                          "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}})
        claim["status"] = {"allocation": {"devices": {"results": [
            {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "admin", "device": "gpu-0", **({"adminAccess": True} if admin
                                                                                             else {})}]}}}
        plane.call("PUT", f"{path}/{name}/status", claim)
    plane.call("POST", "/apis/resource.k8s.io/v1/resourceslices", {"metadata": {"name": "admin"}, "spec": {
        "driver": "gpu.nvidia.com", "nodeName": "admin", "pool": {"name": "admin", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", "attributes": {"uuid": {"string": one.gpus()[0]["uuid"]}}}]}})
    one.pods(("team", "job", "main", "", [], [{"claim": "uses", "pool": "admin", "device": "gpu-0"}]),
             ("watchers", "exporter", "main", "", [], [{"claim": "looks", "pool": "admin", "device": "gpu-0"}]))
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}, "the user", 30)
    time.sleep(1)
    assert pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}
    assert pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="1") == {(None, None, None)}
    asked = [json.loads(line)["requestURI"] for line in (plane.folder / "audit").read_text().splitlines()]
    for name in ("team/resourceclaims/uses", "watchers/resourceclaims/looks"):
        assert sum(uri.endswith(name) for uri in asked) == 1, "each claim is asked for once"


def test_thread_10_mig_devices_have_all_labels_of_their_pods(exporter, plane):  # noqa: F811
    """dcgm-exporter#577."""
    one = exporter({"gpus": [{"product": "NVIDIA A100-SXM4-40GB", "mig_devices": ["3g.20gb", "1g.5gb"]}]},
                   "-k", "--kubernetes-enable-pod-labels", f"--kubeconfig={plane.kubeconfig}")
    devices = dict(re.findall(r"(MIG-\S+) (\S+) gi", one.control("mig", "0", "list")))
    pods = []
    for n, uuid in enumerate(devices):
        make_pod(plane, f"mig{n}", "n1", {"app": f"a{n}"})
        pods.append(("team", f"mig{n}", "main", f"nvidia.com/mig-{devices[uuid]}", [uuid]))
    one.pods(*pods)
    got = wait(lambda: (found := {s.labels.get("app"): s.labels for s in one.samples("DCGM_FI_DEV_FB_USED")})
               and None not in found and found, "labels of both", 10)
    for n, profile in enumerate(devices.values()):
        labels = got[f"a{n}"]
        assert (labels["pod"], labels["namespace"], labels["container"], labels["GPU_I_PROFILE"]) == (
            f"mig{n}", "team", "main", profile)


def test_without_an_api_server_there_are_pods_without_labels(exporter, tmp_path):  # noqa: F811
    one = exporter("2xt4", "-k", "--kubernetes-enable-pod-labels", f"--kubeconfig={tmp_path}/none")
    one.pods(("team", "job", "main", "nvidia.com/gpu", [one.gpus()[0]["uuid"]]))
    wait(lambda: pod_of(one.samples("DCGM_FI_DEV_GPU_TEMP"), gpu="0") == {("team", "job", "main")}, "the pod")
    assert "no pod labels and claims in metrics" in one.log.read_text()
