# SPDX-License-Identifier: Apache-2.0
"""The operator as the master of node features, beside a real API server: NodeFeatureRules, an NFD
that is there already and goes, what gone nodes leave, and that no start or end of anything takes a
label away. The servers are those of test_operator.py.
"""

import signal
import threading
import time

import pytest
from control_plane import wait
from test_operator import (  # noqa: F401 (fixtures)
    POLICIES, SETS, SPACE, Operator, labels, new_node, plane, policy, settled)

FEATURES = f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{SPACE}/nodefeatures"
RULES = "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeaturerules"
WORKER = f"{SETS}/nvidia-node-feature-discovery-worker"
PREFIX = "feature.node.kubernetes.io/"
VERSION = "nfd.node.kubernetes.io/worker.version"


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):  # noqa: F811
    wait(lambda: plane.serves(RULES), "NodeFeatureRules are served")
    for name in ("a", "b"):
        new_node(plane, name)
    plane.call("POST", POLICIES, policy("cluster-policy", driver={"enabled": False}))
    with Operator(plane, build, tmp_path_factory.mktemp("operator"),
                  NFD_MASTER_CONFIG='{"enableTaints": true, "autoDefaultNs": false}') as operator:
        wait(lambda: plane.get(WORKER), "the worker's DaemonSet")
        wait(lambda: "nvidia.com/gpu.present" in labels(plane, "b"), "the nodes' labels")
        yield operator


class Blinks:
    """Every label that was taken from a node while this ran."""

    def __init__(self, plane, node):  # noqa: F811
        self.plane, self.node, self.gone, self.going = plane, node, [], True
        self.before = labels(plane, node)
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        before = self.before
        while self.going:
            now = labels(self.plane, self.node)
            self.gone += [key for key in before if key not in now]
            before = now
            time.sleep(0.005)

    def end(self):
        self.going = False
        self.thread.join()
        return self.gone


def set_features(plane, node, features, **more):  # noqa: F811
    plane.patch(f"{FEATURES}/{node}", {"spec": {"features": features} | more})


def modules(*names):
    return {"flags": {"kernel.loadedmodule": {"elements": {name: {} for name in names}}},
            "attributes": {}, "instances": {}}


def test_rules_make_labels_annotations_taints_and_resources(plane, operator):  # noqa: F811
    set_features(plane, "a", modules("nvidia_fs", "ext4"))
    plane.call("POST", RULES, {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule", "metadata": {"name": "r"},
        "spec": {"rules": [{
            "name": "gds", "labels": {"nvidia.com/gds.capable": "true"}, "annotations": {"note": "x"},
            "extendedResources": {"vendor.com/dongle": "2"},
            "labelsTemplate": "{{range .kernel.loadedmodule}}mod-{{.Name}}=on\n{{end}}",
            "taints": [{"key": "vendor.com/special", "value": "yes", "effect": "PreferNoSchedule"}],
            "matchFeatures": [{"feature": "kernel.loadedmodule",
                               "matchExpressions": {"nvidia_fs": {"op": "Exists"}}}]}]}})
    wait(lambda: labels(plane, "a").get("nvidia.com/gds.capable") == "true", "the rule's label")
    assert labels(plane, "a")[PREFIX + "mod-nvidia_fs"] == "on"
    assert "nvidia.com/gds.capable" not in labels(plane, "b")
    node = plane.get("/api/v1/nodes/a")
    assert node["metadata"]["annotations"][PREFIX + "note"] == "x"
    assert node["metadata"]["annotations"]["nfd.node.kubernetes.io/extended-resources"] == "vendor.com/dongle"
    assert node["status"]["capacity"]["vendor.com/dongle"] == "2"
    assert [taint["key"] for taint in node["spec"]["taints"]].count("vendor.com/special") == 1
    count = settled(plane)
    time.sleep(1)
    assert len(plane.writes("gpu-operator")) == count
    # One write for one change of the node's labels.
    before = [w for w in plane.writes("gpu-operator") if w == "patch nodes/a"]
    set_features(plane, "a", modules("nvidia_fs"), labels={PREFIX + "pci-10de.present": "true", "x": "1", "y": "2"})
    wait(lambda: labels(plane, "a").get(PREFIX + "y") == "2", "a changed NodeFeature")
    settled(plane)
    assert len([w for w in plane.writes("gpu-operator") if w == "patch nodes/a"]) == len(before) + 1
    # The module is gone, and so is what the rule said.
    set_features(plane, "a", {"flags": {"kernel.loadedmodule": {"elements": {"nvidia_fs": None}}}})
    wait(lambda: "nvidia.com/gds.capable" not in labels(plane, "a"), "the rule's end")
    settled(plane)
    node = plane.get("/api/v1/nodes/a")
    assert "vendor.com/dongle" not in node["status"].get("capacity", {})
    assert "vendor.com/special" not in [taint["key"] for taint in node["spec"].get("taints", [])]
    plane.call("DELETE", f"{RULES}/r")


def told(operator, word):
    return [line for line in operator.log.read_text().splitlines() if word in line]


def test_nfd2074_a_key_without_effect_is_named(operator):
    assert len(told(operator, "NFD_MASTER_CONFIG: autoDefaultNs: unknown key, has no effect")) == 1


def test_a_rule_that_fails_says_so_on_the_rule(plane, operator):  # noqa: F811
    """A template's numbers have a width, as Go's do. A label that is missing has one line in the log
    and its reason in an event, however many nodes and however often it fails."""
    gpu = {"matchFeatures": [{"feature": "pci.device",
                              "matchExpressions": {"vendor": {"op": "In", "value": ["10de"]}}}]}
    for node in ("a", "b"):
        set_features(plane, node, {"instances": {"pci.device": {"elements": [
            {"attributes": {"class": "0302", "vendor": "10de", "device": "20b0"}}]}}})
    slots = '{{ range $i, $d := .pci.device }}slot.{{ printf "%02d" $i }}={{ $d.class }}\n{{ end }}'
    plane.call("POST", RULES, {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule", "metadata": {"name": "slots"},
        "spec": {"rules": [gpu | {"name": "width", "labelsTemplate": slots},
                           gpu | {"name": "field", "labelsTemplate": "{{ .pci.nothing }}"},
                           gpu | {"name": "denied", "labels": {"x.kubernetes.io/gpu": "1"}},
                           {"name": "unread", "labelsTemplate": "{{ range"}]}})
    wait(lambda: all(labels(plane, node).get(PREFIX + "slot.00") == "0302" for node in ("a", "b")), "slots")

    def event():
        events = plane.get("/api/v1/events")["items"]
        return "".join(e["message"] for e in events if e["involvedObject"]["kind"] == "NodeFeatureRule"
                       and e["reason"] == "NodeFeatureRuleFailed")

    wait(lambda: all(word in event() for word in (
        "rule field fails on node", "there is no .nothing", "rule denied fails on node", "denyLabelNs",
        "rule unread is left out: rule unread.labelsTemplate: line 1")), "the event")
    settled(plane)
    # Nothing new is nothing to tell.
    set_features(plane, "a", modules("ext4"))
    settled(plane)
    for rule in ("field", "denied", "unread"):
        assert len(told(operator, f"NodeFeatureRule slots: rule {rule} ")) == 1
    plane.call("DELETE", f"{RULES}/slots")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_op580_op782_nfd2408_no_restart_takes_a_label(plane, operator, how):  # noqa: F811
    settled(plane)
    blinks = Blinks(plane, "b")
    for _ in range(5):
        operator.stop(how)
        operator.start()
        time.sleep(0.7)
    wait(lambda: settled(plane) is not None, "quiet")
    assert blinks.end() == []
    assert labels(plane, "b") == blinks.before


def test_an_nfd_is_left_alone_and_taken_over_without_a_gap(plane, operator):  # noqa: F811
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": "nfd"}})
    other = FEATURES.replace(SPACE, "nfd")
    plane.call("POST", other, {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
        "metadata": {"name": "b", "labels": {"nfd.node.kubernetes.io/node-name": "b"},
                     "annotations": {VERSION: "v0.18.3"}},
        "spec": {"labels": {PREFIX + "pci-10de.present": "true"}}})
    wait(lambda: plane.get(WORKER) is None, "our worker makes room")
    # Its master writes labels and a record of them.
    plane.patch("/api/v1/nodes/b", {"metadata": {
        "labels": {PREFIX + "theirs": "1"},
        "annotations": {"nfd.node.kubernetes.io/feature-labels": "pci-10de.present,theirs"}}})
    count = settled(plane)
    time.sleep(1)
    assert len(plane.writes("gpu-operator")) == count
    # It is uninstalled, and leaves labels and record. The stale record does not keep ours off.
    blinks = Blinks(plane, "b")
    plane.call("DELETE", f"{other}/b")
    time.sleep(3)
    assert plane.get(WORKER) is None
    wait(lambda: plane.get(WORKER), "our worker takes over", 45)
    wait(lambda: PREFIX + "theirs" not in labels(plane, "b"), "what nobody says any more goes")
    assert set(blinks.end()) == {PREFIX + "theirs"}


def test_a_node_that_comes_back_finds_its_features(plane, operator):  # noqa: F811
    new_node(plane, "back")
    wait(lambda: "nvidia.com/gpu.present" in labels(plane, "back"), "the node's labels")
    before = labels(plane, "back")
    plane.call("DELETE", "/api/v1/nodes/back")
    # As its kubelet registers it; what runs there has no reason to say anything again.
    plane.call("POST", "/api/v1/nodes", {"metadata": {"name": "back", "labels": {"kubernetes.io/os": "linux"}}})
    wait(lambda: before.items() <= labels(plane, "back").items(), "its labels", 5)


def test_what_a_gone_node_leaves_is_collected(plane, operator):  # noqa: F811
    new_node(plane, "gone")
    wait(lambda: "nvidia.com/gpu.present" in labels(plane, "gone"), "the node's labels")
    plane.call("DELETE", "/api/v1/nodes/gone")
    # Also what was left while no operator ran.
    operator.stop()
    new_node(plane, "away")
    plane.call("DELETE", "/api/v1/nodes/away")
    operator.start()
    time.sleep(2)
    assert plane.get(f"{FEATURES}/gone") and plane.get(f"{FEATURES}/away"), "they may come back"
    for name in ("gone", "away"):
        wait(lambda name=name: plane.get(f"{FEATURES}/{name}") is None, f"the NodeFeature of {name} is deleted", 100)
    assert plane.get(f"{FEATURES}/b") and plane.get(f"{FEATURES}/back")


def test_namespaces_that_were_chosen_have_a_say(plane, operator):  # noqa: F811
    def brings(space, label):
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": space, "labels": {"features": label}}})
        plane.call("POST", FEATURES.replace(SPACE, space), {
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
            "metadata": {"name": "extra", "labels": {"nfd.node.kubernetes.io/node-name": "b"}},
            "spec": {"labels": {space: "1"}}})

    brings("team", "yes")
    brings("later", "no")
    settled(plane)
    assert PREFIX + "team" not in labels(plane, "b")
    operator.stop()
    operator.environment["NFD_MASTER_CONFIG"] = (
        '{"restrictions": {"nodeFeatureNamespaceSelector": {"matchLabels": {"features": "yes"}}}}')
    operator.start()
    wait(lambda: labels(plane, "b").get(PREFIX + "team") == "1", "the label of a chosen namespace")
    annotations = plane.get("/api/v1/nodes/b")["metadata"]["annotations"]
    assert "team/extra:team" in annotations["nvidia.com/gpu-operator.feature-labels"].split(";")
    settled(plane)
    assert PREFIX + "later" not in labels(plane, "b")
    # One that is chosen later, and one that is chosen no more: silence takes nothing.
    plane.patch("/api/v1/namespaces/later", {"metadata": {"labels": {"features": "yes"}}})
    wait(lambda: labels(plane, "b").get(PREFIX + "later") == "1", "the label of the other one")
    plane.patch("/api/v1/namespaces/later", {"metadata": {"labels": {"features": "no"}}})
    plane.patch(FEATURES.replace(SPACE, "team") + "/extra", {"spec": {"labels": {"team": "2"}}})
    wait(lambda: labels(plane, "b").get(PREFIX + "team") == "2", "a change in a chosen namespace")
    assert labels(plane, "b")[PREFIX + "later"] == "1"
    # What is deleted says no more.
    plane.call("DELETE", FEATURES.replace(SPACE, "team") + "/extra")
    wait(lambda: PREFIX + "team" not in labels(plane, "b"), "the end of a deleted object's label")
    assert labels(plane, "b")[PREFIX + "later"] == "1"
