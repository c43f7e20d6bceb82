# SPDX-License-Identifier: Apache-2.0
"""Helm at a real API server: what a release finds in the cluster decides what its values ask for."""

import contextlib
import copy
import json
import subprocess

import nvidias_operator as theirs
import pytest
import yaml
from control_plane import ROOT, ControlPlane, wait
from kubelets import Kubelets
from test_change_over import PLACES, POLICY, running
from test_operator import NODE_FEATURES, POLICIES, SPACE, Operator, labels, settled, status  # noqa: F401

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
    ({"dcgmExporter": {}}, "dcgmExporter", (MIRROR, *VERSIONS["dcgmExporter"])),
    ({"dcgmExporter": {"image": "gantry"}}, "dcgmExporter", (None, None, None)),
    ({"migManager": {}}, "migManager", (MIRROR, *VERSIONS["migManager"])),
    ({"migManager": {"image": "gantry"}}, "migManager", (None, None, None)),
])
def test_what_is_left_out_is_what_runs(helm, left, given, section, named):
    made = upgrade(helm, given, "--dry-run=server", "-o", "json")
    manifest = json.loads(made)["manifest"]
    policy = next(o for o in yaml.safe_load_all(manifest) if o and o["kind"] == "ClusterPolicy")
    assert parts(policy["spec"][section]) == named


@pytest.mark.parametrize("section", ["dcgmExporter", "migManager"])
def test_the_notes_name_the_value_that_selects_ours(helm, left, section):
    def notes(given):
        return json.loads(upgrade(helm, given, "--dry-run=server", "-o", "json"))["info"]["notes"]
    kept = "/".join(("", ":".join(VERSIONS[section])))
    assert f"{MIRROR}{kept}" in notes({}) and f"--set {section}.image=gantry" in notes({})
    for given in ({"image": "gantry"}, {"version": "4.8"}):
        assert f"--set {section}.image" not in notes({section: given})


def test_no_pod_of_a_kept_operand_ends_and_nothing_is_written_twice(plane, helm, left, build, tmp_path_factory):  # noqa: F811
    upgrade(helm, values())
    with Operator(plane, build, tmp_path_factory.mktemp("operator"), OPERATOR_IMAGE=f"{MIRROR}/gantry:0.1.0"):
        wait(lambda: status(plane).get("state") == "ready", "ready", 90)
        settled(plane)
    ended = {name for uid, name in left.items() if uid not in running(plane)}
    # The validator is ours from now on, and NVIDIA's MIG manager waits for it by an init container.
    assert not [name for name in ended if not name.startswith(("nvidia-operator-validator", "nvidia-mig-manager"))], ended
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


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(name="bare", scope="module")
def _bare(tmp_path_factory):
    """A cluster without any definition of ours."""
    with ControlPlane(tmp_path_factory.mktemp("bare"), "garbage-collector-controller") as bare:
        bare.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        yield bare


def older(name, *without):
    """A definition of the chart as another release has it: without some fields, and our label."""
    made = yaml.safe_load((ROOT / f"deploy/chart/crds/{name}.yaml").read_text())
    del made["metadata"]["labels"]
    for path in without:
        *parents, last = path.split(".")
        here = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for key in parents:
            here = here["properties"][key]
        del here["properties"][last]
    return made


def policy_in(manifest):
    return next(o for o in yaml.safe_load_all(manifest) if o and o["kind"] == "ClusterPolicy")


def delete_definitions(plane):
    """kube-apiserver can lose sight of a definition that it deletes until something else changes in it."""
    for one in plane.get(CRDS)["items"]:
        plane.call("DELETE", f"{CRDS}/{one['metadata']['name']}")
    for attempt in range(12):
        with contextlib.suppress(AssertionError):
            wait(lambda: not plane.get(CRDS)["items"], "no definition is left", 5)
            return
        for one in plane.get(CRDS)["items"]:
            plane.patch(f"{CRDS}/{one['metadata']['name']}", {"metadata": {"annotations": {"attempt": str(attempt)}}})
    raise AssertionError("definitions are still there")


@pytest.mark.parametrize("name", ["helm", "helm3"])
def test_an_installation_beside_other_definitions(bare, tmp_path, name):
    """Of another NFD, which stay as they are, and of an earlier operator, which the hook brings up to date first."""
    there = [older("nfd.k8s-sigs.io_nodefeaturerules", "spec.rules"),
             older("nvidia.com_clusterpolicies", "spec.hostPaths.kubeletRootDir")]
    there = {one["metadata"]["name"]: bare.call("POST", CRDS, one)["spec"] for one in there}
    wait(lambda: bare.serves("/apis/nvidia.com/v1/clusterpolicies"), "the kind")
    helm = Helm(name, bare, tmp_path)
    words = ["install", "gpu-operator", "deploy/chart", "-n", SPACE]
    if name == "helm":
        assert "conflict" in helm.run(*words, "--no-hooks").stderr
        words.append("--server-side=false")
    done = json.loads(helm.must(*words, "--dry-run=server", "-o", "json"))
    assert [h["events"] for h in done["hooks"] if h["kind"] == "Job" and "upgrade" in h["name"]] == [["pre-install", "pre-upgrade"]]
    helm.must(*words, "--no-hooks")
    assert {key: bare.get(f"{CRDS}/{key}")["spec"] for key in there} == there
    helm.must("uninstall", "gpu-operator", "-n", SPACE, "--no-hooks")
    delete_definitions(bare)


def test_no_hook_runs_where_the_definitions_are_the_charts(plane, helm):
    done = json.loads(helm.must("install", "another", "deploy/chart", "-n", "default", "--dry-run=server", "-o", "json",
                                "--take-ownership"))
    assert [h["events"] for h in done["hooks"] if h["kind"] == "Job" and "upgrade" in h["name"]] == [["pre-upgrade"]]


@pytest.mark.parametrize("given", [{}, {"driver": {"version": "580"}, "mig": {"strategy": "mixed"}, "cdi": None},
                                   {"devicePlugin": {"config": {"name": "a", "default": "b"}}, "validator": {"tolerations": []}},
                                   values()], ids=["none", "some", "config", "mirror"])
def test_what_is_rendered_is_what_is_stored(plane, helm, given):
    """op#2795: else Argo CD is out of sync for ever."""
    rendered = policy_in(helm.must("template", "gpu-operator", "deploy/chart", values=given))
    rendered["metadata"] = {"name": "compared"}
    stored = plane.call("POST", f"{POLICIES}?dryRun=All&fieldValidation=Strict", rendered)
    assert stored["spec"] == rendered["spec"]


def test_fields_that_the_api_server_drops_are_named(bare, build, tmp_path):  # noqa: F811
    """contrast#2599: the definitions of the operator before were left in the cluster."""
    for file in sorted((ROOT / "deploy/chart/crds").glob("*.yaml")):
        bare.call("POST", CRDS, file.read_bytes(), "application/yaml")
    path = f"{CRDS}/clusterpolicies.nvidia.com"
    old = older("nvidia.com_clusterpolicies", "spec.hostPaths.kubeletRootDir")
    bare.patch(path, {"spec": {"versions": old["spec"]["versions"]}})
    wait(lambda: bare.serves("/apis/nvidia.com/v1/clusterpolicies"), "the kind")
    files = tmp_path / "files"
    files.mkdir()
    for file in (ROOT / "deploy/chart/known-values.json", ROOT / "deploy/crd_schema/definition-fields.json"):
        (files / file.name).write_text(file.read_text())
    bare.call("POST", POLICIES, {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                                 "spec": {"hostPaths": {"kubeletRootDir": "/data/kubelet"}}})

    def condition(kind):
        return next((c for c in status(bare).get("conditions", []) if c["type"] == kind), {})

    with Operator(bare, build, tmp_path, CHART_FILES=str(files), VALUES_NOT_KNOWN='["driver.maxParallelUpgrades"]',
                  VALUES_NOT_FOLLOWED='["draDriver.version"]') as operator:
        wait(lambda: condition("DefinitionsCurrent").get("reason") == "DefinitionOutdated", "the condition")
        told = condition("DefinitionsCurrent")
        assert "spec.hostPaths.kubeletRootDir" in told["message"] and "--force-conflicts" in told["message"]
        assert "spec.hostPaths.kubeletRootDir" in operator.log.read_text()
        partly = condition("SpecFollowed")["message"]
        assert "driver.maxParallelUpgrades (driver.upgradePolicy.maxParallelUpgrades?)" in partly
        assert "draDriver.version" in partly
        doctor = subprocess.run([build / "bin/gantry", "doctor"], env=operator.environment, text=True, capture_output=True,
                                check=False)
        assert "DefinitionOutdated" in doctor.stdout and "ValuesNotKnown" in doctor.stdout, doctor.stdout
        assert doctor.returncode == 1
        new = yaml.safe_load((ROOT / "deploy/chart/crds/nvidia.com_clusterpolicies.yaml").read_text())
        bare.patch(path, {"spec": {"versions": new["spec"]["versions"]}})
        wait(lambda: condition("DefinitionsCurrent").get("status") == "True", "it is up to date")
    bare.call("DELETE", f"{POLICIES}/cluster-policy")
    wait(lambda: not bare.get("/apis/node.k8s.io/v1/runtimeclasses")["items"], "its objects are gone")


def test_uninstalling_gives_back_what_was_there(bare, build, tmp_path):  # noqa: F811
    """op#446, and RuntimeClasses of distributions; labels of the namespace, op#314's successor."""
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    there = [{"metadata": {"name": "nvidia", "labels": {"app.kubernetes.io/managed-by": "Helm", "a": "b"}}, "handler": "nvidia"},
             {"metadata": {"name": "nvidia-legacy"}, "handler": "mine"}]
    for one in there:
        bare.call("POST", classes, one)
    psa = "pod-security.kubernetes.io"
    before = {f"{psa}/enforce": "baseline", f"{psa}/warn": "restricted"}
    space = f"/api/v1/namespaces/{SPACE}"
    bare.patch(space, {"metadata": {"labels": before}})
    before = bare.get(space)["metadata"]["labels"]
    bare.call("POST", POLICIES, {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                                 "spec": {"psa": {"enabled": True}}})
    with Operator(bare, build, tmp_path) as operator:
        wait(lambda: bare.get(space)["metadata"]["labels"][f"{psa}/enforce"] == "privileged", "the namespace's labels")
        wait(lambda: bare.get(f"{classes}/nvidia-legacy")["handler"] == "nvidia-legacy", "its handler")
        wait(lambda: "gpu-operator" in bare.get(f"{classes}/nvidia")["metadata"]["labels"].values(), "the other is ours")
        settled(bare)
        written = len(bare.writes("gpu-operator"))
        operator.stop()
        operator.start()
        wait(lambda: "reconciling" in operator.log.read_text().rsplit("leader", 1)[-1], "reconciling")
        settled(bare)
        assert bare.writes("gpu-operator")[written:] == []
        operator.stop()
        done = operator.uninstall("--timeout=60", "--all-policies")
        assert done.returncode == 0, done.stderr
    assert bare.get(space)["metadata"]["labels"] == before
    assert "nvidia.com/gpu-operator.earlier" not in bare.get(space)["metadata"].get("annotations", {})
    for one in there:
        stored = bare.get(f"{classes}/{one['metadata']['name']}")
        assert stored["handler"] == one["handler"]
        assert stored["metadata"].get("labels") == one["metadata"].get("labels")
        assert not {"annotations", "ownerReferences"} & stored["metadata"].keys()
    assert {o["metadata"]["name"] for o in bare.get(classes)["items"]} == {"nvidia", "nvidia-legacy"}
