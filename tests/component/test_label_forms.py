# SPDX-License-Identifier: Apache-2.0
"""GPUs outlive every form that deviceLabelFields of node feature discovery can give their labels, by our own discovery
and by another one: no pod ends, no label of ours goes, nothing is written twice. They go when they were seen to be
gone, and then nothing is `ready`. Real API server and DaemonSet controller; the test plays the discovery and the
kubelets.
"""

import itertools
import time

import pytest
from control_plane import ControlPlane, wait
from kubelets import Kubelets, add_node
from test_operator import NODE_FEATURES, POLICIES, SPACE, Operator, labels, policy, settled, status  # noqa: F401

F = "feature.node.kubernetes.io/"
PRESENT = "nvidia.com/gpu.present"
FIELDS = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
T4 = dict(zip(FIELDS, ("0302", "10de", "1eb8", "1028", "12a2"), strict=True))
VGA = dict(zip(FIELDS, ("0300", "1a03", "2000", "1a03", "2000"), strict=True))
FORMS = [fields for count in range(1, 6) for fields in itertools.combinations(FIELDS, count)]
OTHERS = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/node-feature-discovery/nodefeatures"
NODES = ("n1", "n2")


def label(device, fields):
    return f"{F}pci-{'_'.join(device[field] for field in fields)}.present"


def devices(*each):
    return {"instances": {"pci.device": {"elements": [{"attributes": one} for one in each]}}}


def new_features(plane, path, node, worker, device_labels):
    plane.call("POST", path, {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
        "metadata": {"name": node, "labels": {"nfd.node.kubernetes.io/node-name": node},
                     "annotations": {"nfd.node.kubernetes.io/worker.version": worker}},
        "spec": {"labels": {key: "true" for key in device_labels}, "features": devices(T4, VGA)}})


class Seen(Kubelets):
    """What was seen of nodes that may not be."""

    def __init__(self, plane):
        self.bad = []
        super().__init__(plane)

    def look(self, kind, node):
        super().look(kind, node)
        now = node["metadata"]["labels"]
        if now.get(PRESENT) == "false" or (PRESENT in now and "nvidia.com/gpu.deploy.device-plugin" not in now):
            self.bad.append(node["metadata"]["name"])

    def operands(self):
        """By uid, but for our node feature discovery's, which goes where another one comes."""
        return {uid: pod["metadata"]["name"] for uid, pod in self.pods.items()
                if "node-feature-discovery" not in pod["metadata"]["name"]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, build):  # noqa: F811
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller") as plane:
        plane.define_resources()
        for space in (SPACE, "node-feature-discovery"):
            plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        plane.call("POST", POLICIES, policy("cluster-policy", driver={"enabled": False}))
        for node in NODES:
            add_node(plane, node)
            plane.patch(f"/api/v1/nodes/{node}/status", {"status": {
                "capacity": {"nvidia.com/gpu": "2"}, "allocatable": {"nvidia.com/gpu": "2"}}})
            new_features(plane, NODE_FEATURES, node, "gantry-0", [f"{F}pci-10de.present"])
        with Seen(plane) as plane.kubelets, Operator(plane, build, plane.folder) as operator:
            wait(lambda: status(plane).get("state") == "ready", "ready", 60)
            plane.kubelets.bad.clear()
            yield plane, operator


def writes_of(plane, since):
    return [write for write in plane.writes("gpu-operator")[since:] if "clusterpolicies" not in write]


def test_op1469_gpus_outlive_every_form_of_their_labels(cluster):
    plane, _ = cluster
    before, since = plane.kubelets.operands(), settled(plane, quiet=3)
    last = f"{F}pci-10de.present"
    for fields in FORMS:
        key = label(T4, fields)
        for node in NODES:
            plane.patch(f"{NODE_FEATURES}/{node}", {"spec": {"labels": {last: None} | {
                key: "true", label(VGA, fields): "true"}}})
        for node in NODES:
            wait(lambda: key in labels(plane, node), key)
        last = key
        assert status(plane)["state"] == "ready", key
    settled(plane)
    assert plane.kubelets.operands() == before and not plane.kubelets.bad
    wrote = writes_of(plane, since)
    assert set(wrote) == {f"patch nodes/{node}" for node in NODES}, wrote
    assert max(wrote.count(write) for write in set(wrote)) <= len(FORMS)


def test_op1469_gpus_outlive_every_form_of_anothers_labels(cluster):
    plane, _ = cluster
    for node in NODES:
        new_features(plane, OTHERS, node, "v0.17.3", [])
    wait(lambda: not plane.get(f"/apis/apps/v1/namespaces/{SPACE}/daemonsets/nvidia-node-feature-discovery-worker"),
         "our discovery goes")
    before, since = plane.kubelets.operands(), settled(plane, quiet=3)
    for fields in FORMS:
        for node in NODES:
            gone = {key: None for key in labels(plane, node) if key.startswith(f"{F}pci-")}
            plane.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": gone | {
                label(T4, fields): "true", label(VGA, fields): "true"}}})
        assert status(plane)["state"] == "ready", fields
    settled(plane)
    assert plane.kubelets.operands() == before and not plane.kubelets.bad
    assert writes_of(plane, since) == []
    # A node that is new is known by its raw features alone.
    for node in NODES:
        plane.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {
            key: None for key in labels(plane, node) if key.startswith("nvidia.com/gpu.")}}})
        wait(lambda: labels(plane, node).get("nvidia.com/gpu.deploy.device-plugin") == "true", "labels")


def condition(plane, kind):
    return next(each for each in status(plane)["conditions"] if each["type"] == kind)


def test_op1469_a_cluster_that_has_lost_its_gpus_is_not_ready(cluster):
    plane, _ = cluster
    for node in NODES:
        plane.patch(f"{OTHERS}/{node}", {"spec": {"features": devices(VGA)}})
        gone = {key: None for key in labels(plane, node) if key.startswith(f"{F}pci-")}
        plane.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": gone | {label(VGA, ("vendor",)): "true"}}})
        wait(lambda: labels(plane, node).get(PRESENT) == "false", "the GPU is gone")
    wait(lambda: condition(plane, "Error")["reason"] == "GPUsGone", "GPUsGone")
    assert status(plane)["state"] == "notReady"
    assert "kubectl label node n1 nvidia.com/gpu.present-" in condition(plane, "Error")["message"]
    # One was taken out, as somebody says; the other node goes.
    plane.patch("/api/v1/nodes/n1", {"metadata": {"labels": {PRESENT: None}}})
    plane.call("DELETE", "/api/v1/nodes/n2")
    wait(lambda: status(plane)["state"] == "ready", "ready")
    assert condition(plane, "Ready")["reason"] == "NoGPUNodes"


def test_op2288_what_a_user_wrote_outlives_a_gpu_that_goes_and_comes(cluster):
    plane, _ = cluster
    key = "nvidia.com/gpu.deploy.device-plugin"
    plane.patch("/api/v1/nodes/n1", {"metadata": {"labels": {key: "false"}}})
    time.sleep(2)  # the operator has seen it; its writes have no precondition yet
    for elements, present in (((T4,), "true"), ((VGA,), "false"), ((T4,), "true")):
        plane.patch(f"{OTHERS}/n1", {"spec": {"features": devices(*elements)}})
        wait(lambda: labels(plane, "n1").get(PRESENT) == present, f"{PRESENT}={present}")
        assert labels(plane, "n1")[key] == "false"
    assert labels(plane, "n1")["nvidia.com/gpu.deploy.operator-validator"] == "true"
