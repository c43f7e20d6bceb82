# SPDX-License-Identifier: Apache-2.0
"""A cluster changes over from NVIDIA's operator to ours beside a real API server and the controller of DaemonSets, and
back. What NVIDIA's operator left is nvidias_operator's; the kubelets are those of kubelets.py.
"""

import copy
import time

import nvidias_operator as theirs
import pytest
from control_plane import ControlPlane, wait
from kubelets import Kubelets
from test_operator import NODE_FEATURES, POLICIES, SETS, SPACE, Operator, labels, policy, settled, status  # noqa: F401

NODES = ("a", "b")
POLICY = f"{POLICIES}/cluster-policy"
DRIVER = f"{SETS}/nvidia-driver-daemonset"
PLUGIN = f"{SETS}/nvidia-device-plugin-daemonset"
WORKER = f"{SETS}/nvidia-node-feature-discovery-worker"
HASH = "nvidia.com/last-applied-hash"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {"ServiceAccount": f"/api/v1/namespaces/{SPACE}/serviceaccounts",
          "ConfigMap": f"/api/v1/namespaces/{SPACE}/configmaps", "Service": f"/api/v1/namespaces/{SPACE}/services",
          "Role": f"{RBAC}/namespaces/{SPACE}/roles", "RoleBinding": f"{RBAC}/namespaces/{SPACE}/rolebindings",
          "ClusterRole": f"{RBAC}/clusterroles", "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
          "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses", "DaemonSet": SETS}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,garbage-collector-controller") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for name in NODES:
            plane.call("POST", "/api/v1/nodes", {"metadata": {
                "name": name, "labels": theirs.node_labels(), "annotations": theirs.NODE_ANNOTATIONS}})
            plane.patch(f"/api/v1/nodes/{name}/status", {"status": {
                "nodeInfo": {"containerRuntimeVersion": "containerd://2.2.3"}, "capacity": {"nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}]}})
            plane.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
            # By NVIDIA's node feature discovery, which is still there.
            plane.call("POST", NODE_FEATURES, {
                "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
                "metadata": {"name": name, "labels": {"nfd.node.kubernetes.io/node-name": name},
                             "annotations": {"nfd.node.kubernetes.io/worker.version": "v0.19.0"}},
                "spec": {"labels": {k: v for k, v in theirs.node_labels().items() if k.startswith("feature.")}}})
        with Kubelets(plane) as plane.kubelets:
            yield plane


@pytest.fixture(scope="module")
def left(plane):
    """The cluster as NVIDIA's operator left it: what was there, to compare with."""
    made = plane.call("POST", POLICIES, policy("cluster-policy", **theirs.SPEC))
    owner = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "cluster-policy",
             "uid": made["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
    made_by_them = {(one["kind"], one["metadata"]["name"]): plane.call("POST", PLACES[one["kind"]], one)[
        "metadata"]["uid"] for one in theirs.objects(theirs.SPEC, owner)}
    sets = len(theirs.pods(theirs.SPEC)) - 1  # none of the nodes shares GPUs by MPS
    wait(lambda: len(running(plane)) == sets * len(NODES), "all pods run", 60)
    return {"pods": running(plane), "objects": made_by_them, "labels": {n: labels(plane, n) for n in NODES},
            "policy": plane.get(POLICY)["metadata"]["uid"], "sets": sets_of(plane)}


@pytest.fixture(scope="module")
def operator(plane, left, build, tmp_path_factory):  # noqa: F811
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        wait(lambda: status(plane).get("state"), "a status")
        settled(plane)
        yield operator


def running(plane):
    return {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in plane.get("/api/v1/pods")["items"]
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]}


def sets_of(plane):
    return {one["metadata"]["name"]: one for one in plane.get(SETS)["items"]}


def objects(plane):
    return {(kind, one["metadata"]["name"]): one["metadata"]["uid"]
            for kind, path in PLACES.items() for one in plane.get(path)["items"]}


def pods_of(plane, app):
    return {uid for uid, name in running(plane).items() if name.startswith(app)}


def test_nothing_is_made_again_and_no_pod_ends(plane, left, operator):
    after = objects(plane)
    assert {key: after.get(key) for key in left["objects"]} == left["objects"]
    assert running(plane) == left["pods"]
    assert plane.get(POLICY)["metadata"]["uid"] == left["policy"]
    for name, before in left["sets"].items():
        now = plane.get(f"{SETS}/{name}")
        assert now["spec"] == before["spec"], name
        assert now["metadata"]["generation"] == before["metadata"]["generation"], name


def test_no_label_goes(plane, left, operator):
    for node in NODES:
        assert left["labels"][node].items() <= labels(plane, node).items()


def test_the_status_is_ours_and_all_is_ready(plane, operator):
    told = wait(lambda: status(plane).get("state") == "ready" and status(plane), "ready", 60)
    operands = {one["name"]: one for one in told["operands"]}
    assert operands["state-driver"]["state"] == "ready"
    assert operands["state-device-plugin"]["image"] == "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"


def test_nothing_is_written_once_it_is_taken_over(plane, operator):
    before = settled(plane)
    operator.stop()
    operator.start()
    wait(lambda: "reconciling" in operator.log.read_text().rsplit("leader", 1)[-1], "reconciling")
    time.sleep(3)
    assert plane.writes("gpu-operator")[before:] == []


def test_our_own_chart_and_release_end_no_pod(plane, left, operator):
    """What `helm upgrade` to our chart changes in the ClusterPolicy, and a new image of ours later."""
    plane.patch(POLICY, {"spec": {"daemonsets": {"labels": {"helm.sh/chart": "gpu-operator-0.1.0"}}}})
    operator.stop()
    operator.environment["OPERATOR_IMAGE"] = "localhost/gantry:2"
    operator.start()
    settled(plane)
    time.sleep(2)
    assert running(plane) == left["pods"]


def test_what_drifts_is_repaired(plane, operator):
    pods = pods_of(plane, "gpu-feature-discovery")
    plane.patch(f"{SETS}/gpu-feature-discovery", [
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "other"}])
    wait(lambda: plane.get(f"{SETS}/gpu-feature-discovery")["spec"]["template"]["spec"]["containers"][0]["image"]
         != "other", "its image")
    wait(lambda: len(pods_of(plane, "gpu-feature-discovery") - pods) == len(NODES), "its pods", 60)


def test_a_changed_field_changes_its_operand_alone(plane, left, operator):
    before = running(plane)
    plane.patch(POLICY, {"spec": {"devicePlugin": {"env": [{"name": "MY_OWN", "value": "2"}]}}})
    wait(lambda: len(pods_of(plane, "nvidia-device-plugin-daemonset") - before.keys()) == len(NODES), "its pods", 60)
    others = {uid for uid, name in before.items() if not name.startswith("nvidia-device-plugin-daemonset")}
    assert others <= running(plane).keys()
    made = plane.get(PLUGIN)
    assert made["metadata"]["annotations"][HASH] != left["sets"]["nvidia-device-plugin-daemonset"]["metadata"][
        "annotations"][HASH]
    wait(lambda: status(plane).get("state") == "ready", "ready", 60)


def test_a_driver_of_theirs_is_known_by_its_digest(plane, left, operator):
    """A label asks for another template, and for no other driver: its pods start again without a node being emptied."""
    def number(pod):
        return next(e["value"] for e in pod["spec"]["containers"][0]["env"] if e["name"] == "DRIVER_CONFIG_DIGEST")

    plane.patch(POLICY, {"spec": {"daemonsets": {"labels": {"mine": "1"}}}})
    wait(lambda: plane.get(DRIVER)["spec"] != left["sets"]["nvidia-driver-daemonset"]["spec"], "our template")
    made = plane.get(DRIVER)["spec"]["template"]
    assert number(made) == number(left["sets"]["nvidia-driver-daemonset"]["spec"]["template"])
    # Upgrades are ours from here on.
    wait(lambda: len(pods_of(plane, "nvidia-driver-daemonset") - left["pods"].keys()) == len(NODES),
         "the drivers' pods", 90)
    wait(lambda: all(labels(plane, n)["nvidia.com/gpu-driver-upgrade-state"] == "upgrade-done" for n in NODES),
         "every driver is upgraded", 60)


def test_a_policy_that_names_no_drivers_image_leaves_the_driver(plane, operator):
    """As the values of a release of NVIDIA's chart, which names it by default."""
    before, named = pods_of(plane, "nvidia-driver-daemonset"), plane.get(POLICY)["spec"]["driver"]
    plane.patch(POLICY, {"spec": {"driver": dict.fromkeys(("repository", "image", "version"))}})
    wait(lambda: {one["name"]: one["state"] for one in status(plane)["operands"]}["state-driver"] == "unsupported", "told")
    settled(plane)
    assert pods_of(plane, "nvidia-driver-daemonset") == before
    plane.patch(POLICY, {"spec": {"driver": {key: named[key] for key in ("repository", "image", "version")}}})
    wait(lambda: status(plane).get("state") == "ready", "ready", 60)


def test_an_operand_that_is_switched_off_goes(plane, operator):
    plane.patch(POLICY, {"spec": {"dcgmExporter": {"enabled": False}}})
    wait(lambda: plane.get(f"{SETS}/nvidia-dcgm-exporter") is None, "the DaemonSet is gone")


def test_node_feature_discovery_is_taken_over_when_theirs_goes(plane, left, operator):
    assert plane.get(WORKER) is None
    for node in NODES:
        plane.call("DELETE", f"{NODE_FEATURES}/{node}")
    wait(lambda: plane.get(WORKER), "our worker", 60)
    for node in NODES:
        assert {k: v for k, v in left["labels"][node].items() if k.startswith("feature.")}.items() <= labels(
            plane, node).items()


def test_and_back_again(plane, left, operator):
    """What NVIDIA's operator finds when it comes back: its own hash where it was left alone, and nothing in its way."""
    # What ours alone has goes first, by a value of the chart; labels stay.
    before = {node: labels(plane, node) for node in NODES}
    operator.stop()
    operator.environment["NODE_FEATURES_ENABLED"] = "false"
    operator.start()
    wait(lambda: plane.get(WORKER) is None, "our worker is gone")
    settled(plane)
    operator.stop()
    assert {node: labels(plane, node) for node in NODES} == before
    for name, one in sets_of(plane).items():
        metadata, was = one["metadata"], left["sets"][name]
        assert "finalizers" not in metadata
        assert metadata["ownerReferences"] == was["metadata"]["ownerReferences"]
        assert one["spec"]["selector"] == was["spec"]["selector"]
        if metadata["annotations"][HASH] != was["metadata"]["annotations"][HASH]:
            # It writes its own in its place, as it does with an older one of its own.
            again = copy.deepcopy(was)
            for key in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
                again["metadata"].pop(key, None)
            again["metadata"]["resourceVersion"] = metadata["resourceVersion"]
            plane.call("PUT", f"{SETS}/{name}", again)
    for path in PLACES.values():
        for one in plane.get(path)["items"]:
            assert "finalizers" not in one["metadata"]
    assert "finalizers" not in plane.get(POLICY)["metadata"]
    # With its ClusterPolicy goes all that either of them made.
    plane.call("DELETE", POLICY)
    wait(lambda: not [key for key in objects(plane) if key in left["objects"]], "all is collected", 60)
