# SPDX-License-Identifier: Apache-2.0
"""A node of another kind joins a cluster whose nodes have drivers, beside a real API server and the controllers of
DaemonSets and disruption budgets (kubelets.py plays the kubelets): whatever it is, nothing happens to those that run.
The operator is that of $GANTRY_BUILD.
"""

import collections
import contextlib
import time

import pytest
from control_plane import ControlPlane, wait
from kubelets import STATE, Kubelets, add_node, is_driver, node_of
from test_driver_upgrades import new_workload
from test_operator import POLICIES, SETS, SPACE, Operator, policy, status  # noqa: F401

KERNEL = "feature.node.kubernetes.io/kernel-version.full"
SYSTEM = "nvidia.com/gpu-operator.driver.system"
DRIVER = f"{SETS}/nvidia-driver-daemonset"
IMAGE = {"repository": "registry.local", "image": "driver", "version": "565.57.01",
         "manager": {"repository": "registry.local", "image": "manager", "version": "v0.12.0"},
         "upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 1, "maxUnavailable": "25%",
                           "podDeletion": {"timeoutSeconds": 300}}}
RHCOS_KERNEL = "5.14.0-503.11.1.el9_5."
QUIET = 12  # seconds after the node has its driver


class Watched(Kubelets):
    """Remembers every driver's pod that a node has had, and every pod that ended."""

    def __init__(self, plane):
        self.drivers, self.gone, self.cordoned = collections.defaultdict(set), [], set()
        super().__init__(plane)

    def play(self, kind, pod):
        if is_driver(pod):
            self.drivers[node_of(pod)].add(pod["spec"]["containers"][0]["image"])
        if kind == "DELETED":
            self.gone.append(pod["metadata"]["name"])
        super().play(kind, pod)

    def look(self, kind, node):
        if node["spec"].get("unschedulable"):
            self.cordoned.add(node["metadata"]["name"])
        super().look(kind, node)


@contextlib.contextmanager
def cluster(folder):
    with ControlPlane(folder, "daemonset-controller,disruption-controller") as plane:
        plane.define_resources()
        for space in (SPACE, "users"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        with Watched(plane) as plane.kubelets:
            yield plane


def is_upgraded(plane, *names):
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in plane.get("/api/v1/nodes")["items"]}
    return all(nodes[name].get(STATE) == "upgrade-done" for name in names)


def driver_state(plane):
    return next((o for o in status(plane).get("operands", []) if o["name"] == "state-driver"), {})


def sets_of(plane):
    return {one["metadata"]["name"]: one for one in plane.get(SETS)["items"]}


def driver_pods(plane):
    return [pod for pod in plane.get("/api/v1/pods")["items"] if is_driver(pod)]


def pods_on(plane, name):
    return {pod["metadata"]["uid"] for pod in plane.get("/api/v1/pods")["items"]
            if pod["spec"].get("nodeName") == name and "deletionTimestamp" not in pod["metadata"]}


def join_and_expect_nothing_elsewhere(plane, join, fresh, image):
    """`join` adds node `fresh`, which comes to have that driver, and all else stays as it is."""
    running = [node["metadata"]["name"] for node in plane.get("/api/v1/nodes")["items"]]
    drivers = {name: set(plane.kubelets.drivers[name]) for name in running}
    pods, sets = {name: pods_on(plane, name) for name in running}, sets_of(plane)
    before, gone = len(plane.writes("gpu-operator")), list(plane.kubelets.gone)
    join()
    wait(lambda: is_upgraded(plane, fresh), f"{fresh} has its driver", 60)
    time.sleep(QUIET)
    assert plane.kubelets.drivers[fresh] == {f"registry.local/driver:{image}"}, "never another one"
    assert {name: plane.kubelets.drivers[name] for name in running} == drivers
    assert all(pods[name] <= pods_on(plane, name) for name in running)
    assert plane.kubelets.gone == gone, "no pod ended"
    assert not plane.kubelets.cordoned
    assert is_upgraded(plane, *running)
    assert driver_state(plane)["state"] == "ready", driver_state(plane)
    after = sets_of(plane)
    counts = collections.Counter(plane.writes("gpu-operator")[before:])
    written = collections.Counter()
    for write, count in counts.items():
        what = write.split(" ", 1)[1]
        if not what.startswith(("leases/", "events/")) and what != f"nodes/{fresh}" and "clusterpolicies" not in what:
            written[what] += count
    assert all(count <= 2 for count in written.values()), counts
    return sets, after


def run_story(plane, build, folder, driver, nodes, fresh, image):  # noqa: F811
    for add in nodes:
        add(plane)
    plane.call("POST", POLICIES, policy("cluster-policy", driver=IMAGE | driver))
    with Operator(plane, build, folder):
        names = [node["metadata"]["name"] for node in plane.get("/api/v1/nodes")["items"]]
        wait(lambda: is_upgraded(plane, *names), "drivers run", 60)
        new_workload(plane, "train", names[0])
        wait(lambda: plane.get("/api/v1/namespaces/users/pods/train")["status"].get("phase") == "Running", "it trains")
        before, after = join_and_expect_nothing_elsewhere(plane, lambda: fresh(plane), "fresh", image)
        assert plane.get("/api/v1/namespaces/users/pods/train")
        for name, one in before.items():
            assert after[name]["metadata"]["generation"] == one["metadata"]["generation"], name
        return after


def gpu_node(name, system, **labels):
    return lambda plane: add_node(plane, name, system, **{KERNEL: labels["kernel"]} if labels else {})


# op#433, op#1200, op#328
def test_a_node_with_another_system_has_a_driver_of_its_own(build, tmp_path):  # noqa: F811
    with cluster(tmp_path) as plane:
        after = run_story(plane, build, tmp_path, {}, [gpu_node("gpu1", ("ubuntu", "22.04"))],
                          gpu_node("fresh", ("ubuntu", "20.04")), "565.57.01-ubuntu20.04")
        assert {name for name in after if "driver" in name} == {
            "nvidia-driver-daemonset", "nvidia-driver-daemonset-ubuntu20.04"}


PRECOMPILED = [
    # op#1436: one kernel, two systems
    pytest.param(("ubuntu", "22.04"), "6.8.0-59-generic", ("ubuntu", "24.04"), "6.8.0-59-generic", id="two systems"),
    # op#1207: what tells the kernels apart is not in NVIDIA's name for them
    pytest.param(("rhcos", "4.16"), RHCOS_KERNEL + "x86_64", ("rhcos", "4.16"), RHCOS_KERNEL + "aarch64", id="arm64"),
    pytest.param(("rhcos", "4.16"), RHCOS_KERNEL + "aarch64", ("rhcos", "4.16"), RHCOS_KERNEL + "aarch64_64k",
                 id="64k pages"),
]


@pytest.mark.parametrize(("system", "kernel", "other", "other_kernel"), PRECOMPILED)
def test_a_node_with_another_kernel_has_a_driver_of_its_own(build, tmp_path, system, kernel, other, other_kernel):  # noqa: F811
    with cluster(tmp_path) as plane:
        after = run_story(plane, build, tmp_path, {"usePrecompiled": True, "version": "570"},
                          [gpu_node("gpu1", system, kernel=kernel), gpu_node("gpu2", system, kernel=kernel)],
                          gpu_node("fresh", other, kernel=other_kernel),
                          f"570-{other_kernel}-{''.join(other)}")
        assert len([name for name in after if "driver" in name]) == 2


def without_system(one):
    """A DaemonSet as a release made it that took nodes of every system."""
    one = {key: one[key] for key in ("apiVersion", "kind", "metadata", "spec")}
    one["metadata"] = {key: one["metadata"][key] for key in ("name", "labels", "annotations", "ownerReferences")}
    one["metadata"]["labels"].pop(SYSTEM)
    one["metadata"]["annotations"].pop("nvidia.com/gpu-operator.written-keys")
    one["spec"]["template"]["spec"]["nodeSelector"].pop(SYSTEM)
    return one


def test_what_an_earlier_release_made_leaves_the_node_alone_and_no_driver_is_exchanged(build, tmp_path):  # noqa: F811
    with cluster(tmp_path) as plane:
        add_node(plane, "gpu1")
        plane.call("POST", POLICIES, policy("cluster-policy", driver=IMAGE))
        with Operator(plane, build, tmp_path):
            wait(lambda: is_upgraded(plane, "gpu1"), "the driver runs", 60)
        old = without_system(plane.get(DRIVER))
        plane.call("DELETE", DRIVER)
        for pod in driver_pods(plane):
            plane.call("DELETE", f"/api/v1/namespaces/{SPACE}/pods/{pod['metadata']['name']}")
        wait(lambda: not plane.get(DRIVER) and not driver_pods(plane), "it is gone")
        plane.call("POST", SETS, old)
        plane.patch("/api/v1/nodes/gpu1", {"metadata": {"labels": {SYSTEM: None}}})
        wait(lambda: [p for p in driver_pods(plane) if p["status"].get("phase") == "Running"], "its driver runs")
        with Operator(plane, build, tmp_path):
            wait(lambda: driver_state(plane).get("state") == "ready" and is_upgraded(plane, "gpu1"), "it is ready", 60)
            made = plane.get(DRIVER)
            time.sleep(3)
            assert plane.get(DRIVER)["metadata"]["generation"] == made["metadata"]["generation"] == 1
            plane.kubelets.gone.clear()
            plane.kubelets.drivers.clear()
            plane.kubelets.cordoned.clear()
            _, after = join_and_expect_nothing_elsewhere(
                plane, lambda: add_node(plane, "fresh", ("ubuntu", "20.04")), "fresh", "565.57.01-ubuntu20.04")
            driver = after["nvidia-driver-daemonset"]
            assert driver["spec"]["template"]["spec"]["nodeSelector"][SYSTEM] == "ubuntu22.04"
            assert driver["metadata"]["generation"] == 2


def test_a_node_that_gets_no_driver_is_named(build, tmp_path):  # noqa: F811
    with cluster(tmp_path) as plane:
        add_node(plane, "gpu1")
        plane.call("POST", POLICIES, policy("cluster-policy", driver=IMAGE | {"version": "sha256:" + "0" * 64}))
        with Operator(plane, build, tmp_path):
            wait(lambda: driver_state(plane).get("state") == "ready", "it is ready", 60)
            add_node(plane, "fresh", ("ubuntu", "20.04"))
            told = wait(lambda: "fresh run ubuntu20.04" in (s := driver_state(plane)).get("message", "") and s, "it is named")
            assert told["reason"] == "SystemNotServed" and "spec.driver.version" in told["message"]
            # Node feature discovery says no more what a node runs: its driver stays.
            plane.patch("/api/v1/nodes/gpu1", {"metadata": {"labels": {
                "feature.node.kubernetes.io/system-os_release.VERSION_ID": None}}})
            time.sleep(3)
            assert not plane.kubelets.gone
