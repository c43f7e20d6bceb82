# SPDX-License-Identifier: Apache-2.0
"""Helm at a real API server: what a release finds in the cluster decides what its values ask for."""

import copy
import json
import subprocess

import nvidias_operator as theirs
import pytest
import yaml
from control_plane import ROOT, ControlPlane, wait
from kubelets import Kubelets
from test_change_over import POLICY, running
from test_operator import NODE_FEATURES, POLICIES, SPACE, Operator, build, labels, settled, status  # noqa: F401

NODE = "gpu1"
SECTIONS = ("operator", "validator", "driver", "toolkit", "devicePlugin", "dcgmExporter", "gfd", "migManager")
MIRROR = "mirror.example.com/gpu"
# Of NVIDIA's chart v25.3.4.
VERSIONS = {"validator": ("gpu-operator-validator", "v25.3.4"), "driver": ("driver", "580.82.07"),
            "toolkit": ("container-toolkit", "v1.17.8-ubuntu20.04"), "devicePlugin": ("k8s-device-plugin", "v0.17.4"),
            "gfd": ("k8s-device-plugin", "v0.17.4"), "dcgmExporter": ("dcgm-exporter", "4.3.1-4.4.0-ubuntu22.04"),
            "migManager": ("k8s-mig-manager", "v0.12.3-ubuntu20.04")}
MANAGER = (MIRROR, "k8s-driver-manager", "v0.8.1")


def parts(section):
    return tuple(section.get(key) for key in ("repository", "image", "version"))


def mirrored():
    """The ClusterPolicy of NVIDIA's chart where the values name a mirror and no more."""
    spec = copy.deepcopy(theirs.SPEC)
    for section, (image, version) in VERSIONS.items():
        spec[section] |= {"repository": MIRROR, "image": image, "version": version}
    spec["driver"]["manager"] |= dict(zip(("repository", "image", "version"), MANAGER, strict=True))
    return spec


class Helm:
    def __init__(self, name, plane, folder):
        self.program = subprocess.run(["./do", "bed", "path", name], cwd=ROOT, text=True, capture_output=True,
                                      check=True).stdout.strip()
        self.plane, self.folder = plane, folder

    def run(self, *words, values=None):
        (self.folder / "values.yaml").write_text(yaml.safe_dump(values or {}))
        files = [] if values is None else ["-f", self.folder / "values.yaml"]
        return subprocess.run([self.program, f"--kubeconfig={self.plane.kubeconfig}", *words, *files], cwd=ROOT, text=True,
                              capture_output=True, check=False)

    def must(self, *words, values=None):
        done = self.run(*words, values=values)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,garbage-collector-controller") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        plane.call("POST", "/api/v1/nodes", {"metadata": {
            "name": NODE, "labels": theirs.node_labels(), "annotations": theirs.NODE_ANNOTATIONS}})
        plane.patch(f"/api/v1/nodes/{NODE}/status", {"status": {
            "nodeInfo": {"containerRuntimeVersion": "containerd://2.2.3"}, "capacity": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
        plane.patch(f"/api/v1/nodes/{NODE}", {"spec": {"taints": None}})
        plane.call("POST", NODE_FEATURES, {
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
            "metadata": {"name": NODE, "labels": {"nfd.node.kubernetes.io/node-name": NODE},
                         "annotations": {"nfd.node.kubernetes.io/worker.version": "v0.17.3"}},
            "spec": {"labels": {k: v for k, v in theirs.node_labels().items() if k.startswith("feature.")}}})
        with Kubelets(plane) as plane.kubelets:
            yield plane


@pytest.fixture(scope="module")
def helm(plane, tmp_path_factory):
    return Helm("helm3", plane, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def left(plane, helm, tmp_path_factory):
    """NVIDIA's release, installed with a mirror, and what its operator made."""
    chart = tmp_path_factory.mktemp("nvidia")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text(json.dumps({"apiVersion": "v2", "name": "gpu-operator", "version": "25.3.4"}))
    (chart / "templates" / "policy.yaml").write_text(yaml.safe_dump({
        "apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": mirrored()}))
    helm.must("install", "gpu-operator", str(chart), "-n", SPACE)
    owner = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "cluster-policy",
             "uid": plane.get(POLICY)["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
    from test_change_over import PLACES  # noqa: PLC0415
    for one in theirs.objects(mirrored(), owner):
        plane.call("POST", PLACES[one["kind"]], one)
    sets = len(theirs.pods(theirs.SPEC)) - 1  # the node does not share GPUs by MPS
    wait(lambda: len(running(plane)) == sets, "all pods run", 60)
    return running(plane)


def values():
    named = {section: {"repository": MIRROR} for section in SECTIONS}
    named["driver"]["manager"] = {"repository": MIRROR}
    return named


def upgrade(helm, given, *words):
    return helm.must("upgrade", "gpu-operator", "deploy/chart", "-n", SPACE, "--no-hooks", *words, values=given)


def test_a_mirror_alone_says_nothing_about_versions(plane, helm, left):
    upgrade(helm, values())
    spec = plane.get(POLICY)["spec"]
    for section in ("driver", "toolkit", "devicePlugin", "gfd", "dcgmExporter", "migManager"):
        assert parts(spec[section]) == (MIRROR, *VERSIONS[section]), section
    assert parts(spec["driver"]["manager"]) == MANAGER
    # It is of the operator's version, as NVIDIA's is of theirs.
    assert parts(spec["validator"]) == (None, None, None)


def test_the_next_release_changes_nothing_of_it_either(plane, helm, left):
    generation = plane.get(POLICY)["metadata"]["generation"]
    upgrade(helm, values())
    assert plane.get(POLICY)["metadata"]["generation"] == generation


@pytest.mark.parametrize(("given", "section", "named"), [
    ({"driver": {"repository": "other.example.com"}}, "driver", ("other.example.com", *VERSIONS["driver"])),
    ({"driver": {"image": "driver"}}, "driver", (MIRROR, *VERSIONS["driver"])),
    ({"driver": {"version": "580.95.05"}}, "driver", (MIRROR, "driver", "580.95.05")),
    ({"toolkit": {"version": "v1.17.9"}}, "toolkit", (MIRROR, "container-toolkit", "v1.17.9")),
    ({"migManager": {"repository": "r", "image": "own-mig-manager"}}, "migManager", ("r", "own-mig-manager", "v0.15.0")),
    ({"driver": {"image": "r.io/driver:1"}}, "driver", (None, "r.io/driver:1", None)),
    ({"driver": {}}, "driver", (MIRROR, *VERSIONS["driver"])),
    ({"toolkit": {}}, "toolkit", (None, None, None)),
])
def test_what_is_left_out_is_what_runs(helm, left, given, section, named):
    made = upgrade(helm, given, "--dry-run=server", "-o", "json")
    manifest = json.loads(made)["manifest"]
    policy = next(o for o in yaml.safe_load_all(manifest) if o and o["kind"] == "ClusterPolicy")
    assert parts(policy["spec"][section]) == named


def test_no_pod_of_a_kept_operand_ends_and_nothing_is_written_twice(plane, helm, left, build, tmp_path_factory):  # noqa: F811
    upgrade(helm, values())
    with Operator(plane, build, tmp_path_factory.mktemp("operator"), OPERATOR_IMAGE=f"{MIRROR}/gantry:0.1.0"):
        wait(lambda: status(plane).get("state") == "ready", "ready", 90)
        settled(plane)
    ended = {name for uid, name in left.items() if uid not in running(plane)}
    assert not [name for name in ended if "validator" not in name], ended
    assert labels(plane, NODE)["nvidia.com/gpu-driver-upgrade-state"] == "upgrade-done"
    assert "unschedulable" not in plane.get(f"/api/v1/nodes/{NODE}")["spec"]
    assert not [line for line in plane.writes("gpu-operator") if "eviction" in line or line.startswith("delete pods/")]
    written = [line for line in plane.writes("gpu-operator") if "/status" not in line]
    often = {line for line in written if written.count(line) > 2}
    assert not [line for line in often if "clusterpolicies" not in line], often


def test_without_a_cluster_a_mirror_is_no_other_operand(helm):
    made = helm.must("template", "gpu-operator", "deploy/chart", values=values())
    spec = next(o for o in yaml.safe_load_all(made) if o and o["kind"] == "ClusterPolicy")["spec"]
    for section in ("toolkit", "devicePlugin", "gfd", "validator"):
        assert parts(spec[section]) == (None, None, None), section
    assert parts(spec["driver"]) == (MIRROR, "driver", "595.91.07")
