"""NVIDIA's operator gives a cluster over to ours by `helm upgrade`, under running pods, and gets it back."""

import copy
import json
import os
import pathlib
import sys

import pytest
import yaml

from bed import CHART, IMAGE, NAMESPACE, ROOT, TEST_IMAGE, Bed, NodeWatch, UpgradeWatch, wait_for

sys.path.append(str(ROOT / "tests" / "component"))

import nvidias_operator as theirs  # noqa: E402

OWNER = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "name": "cluster-policy", "controller": True,
         "blockOwnerDeletion": True}
HANDLER = """
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
"""


def runnable(made):
    """The same object, of which a pod of any image runs: its programs are a shell's, its probes gone."""
    made = copy.deepcopy(made)
    if made["kind"] == "DaemonSet":
        pod = made["spec"]["template"]["spec"]
        pod["terminationGracePeriodSeconds"] = 1
        for kind, script in (("initContainers", "exit 0"), ("containers", "exec sleep infinity")):
            for container in pod[kind]:
                container["command"] = ["bash", "-c", script]
                for probe in ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle"):
                    container.pop(probe, None)
    return made


def images(made):
    pods = [one["spec"]["template"]["spec"] for one in made if one["kind"] == "DaemonSet"]
    return sorted({c["image"] for pod in pods for c in pod["initContainers"] + pod["containers"]})


def chart(folder: pathlib.Path, spec):
    """NVIDIA's chart as far as Helm is concerned: its release's objects have the names that ours have too."""
    labels = {"app.kubernetes.io/component": "gpu-operator", "app": "gpu-operator"}
    pod = {"serviceAccountName": "gpu-operator", "terminationGracePeriodSeconds": 0, "containers": [
        {"name": "gpu-operator", "image": TEST_IMAGE, "command": ["sleep", "infinity"]}]}
    rbac = "rbac.authorization.k8s.io"
    made = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "gpu-operator"}},
            {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "gpu-operator"}, "rules": []},
            {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "gpu-operator"},
             "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "gpu-operator"},
             "subjects": [{"kind": "ServiceAccount", "name": "gpu-operator", "namespace": NAMESPACE}]},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gpu-operator", "labels": labels},
             "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}},
            {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": spec}]
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(json.dumps({"apiVersion": "v2", "name": "gpu-operator", "version": "26.7.0"}))
    (folder / "templates" / "all.yaml").write_text(yaml.safe_dump_all(made))
    (folder / "crds").symlink_to(CHART / "crds")
    return folder


def values(spec):
    """What the user gave NVIDIA's chart, as `helm get values` tells it."""
    told = {section: spec[section] for section in ("driver", "toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd",
                                                   "migManager", "validator", "mig", "cdi")}
    told = copy.deepcopy(told)
    # These are its defaults, and nobody else's.
    for section in (told["driver"], told["driver"]["manager"], told["dcgmExporter"], told["migManager"]):
        for key in ("repository", "image", "version"):
            del section[key]
    policy = told["driver"]["upgradePolicy"]
    policy["gpuPodDeletion"] = policy.pop("podDeletion")
    return told


@pytest.fixture(scope="module")
def their_bed():
    """A cluster whose nodes have eight GPUs each, by word of mouth: no program looks for them."""
    made = Bed(f"change-{os.getpid()}", nodes=2)
    try:
        made.do("load", "all", str(IMAGE), timeout=300)
        for node in made.nodes():
            made.core.patch_node_status(node, {"status": {"capacity": {"nvidia.com/gpu": "8"}}})
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def left(their_bed, tmp_path_factory):
    """A cluster that NVIDIA's operator has set up: what is there."""
    bed, spec, folder = their_bed, copy.deepcopy(theirs.SPEC), tmp_path_factory.mktemp("nvidia")
    made = [runnable(one) for one in theirs.objects(spec, OWNER)]
    for node in bed.nodes():
        bed.exec(node, "ctr", "--namespace=k8s.io", "images", "tag", TEST_IMAGE, *images(made))
        bed.exec(node, "sh", "-c", f"cat >> /etc/containerd/config.toml <<'END'\n{HANDLER}END\n")
        bed.do("restart", "containerd", node)
    bed.helm("install", "gpu-operator", str(chart(folder / "chart", spec)), "-n", NAMESPACE, "--create-namespace",
             "--wait", "--timeout", "120s")
    uid = bed.policy()["metadata"]["uid"]
    for node in bed.nodes():
        bed.kubectl("label", "--overwrite", "node", node, *(f"{k}={v}" for k, v in theirs.node_labels().items()))
        bed.kubectl("annotate", "--overwrite", "node", node,
                    *(f"{k}={v}" for k, v in theirs.NODE_ANNOTATIONS.items()))
        bed.apply({"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
                   "metadata": {"name": node, "namespace": NAMESPACE,
                                "labels": {"nfd.node.kubernetes.io/node-name": node},
                                "annotations": {"nfd.node.kubernetes.io/worker.version": "v0.19.0"}},
                   "spec": {"labels": {k: v for k, v in theirs.node_labels().items() if k.startswith("feature.")}}})
    bed.apply(*(one | {"metadata": one["metadata"] | {"ownerReferences": [OWNER | {"uid": uid}]}} for one in made))
    wait_for("all of its pods to run", lambda: len(operands(bed)) == (len(theirs.pods(spec)) - 1) * len(bed.nodes())
             and all(p.status.phase == "Running" for p in operands(bed).values()), 120, 1)
    return {"bed": bed, "chart": folder / "chart", "values": folder / "values.yaml", "policy": uid,
            "pods": set(operands(bed)), "sets": sets(bed)}


def operands(bed):
    return {p.metadata.uid: p for p in bed.pods() if any(
        o.kind == "DaemonSet" for o in p.metadata.owner_references or []) and not p.metadata.deletion_timestamp}


def sets(bed):
    return {one.metadata.name: one for one in bed.apps.list_namespaced_daemon_set(NAMESPACE).items}


def test_ours_takes_over_under_running_pods(left):
    bed = left["bed"]
    bed.apply(bed.gpu_pod("works", 1, node=sorted(bed.nodes())[1]))
    bed.wait_phase("works", "Running")
    uid = bed.core.read_namespaced_pod("works", "default").metadata.uid
    left["values"].write_text(yaml.safe_dump(values(theirs.SPEC)))
    with NodeWatch(bed) as watch:
        bed.helm("upgrade", "gpu-operator", str(CHART), "-n", NAMESPACE, "-f", str(left["values"]), "--wait",
                 "--timeout", "180s", "--set", "operator.repository=localhost,operator.image=gantry")
        told = wait_for("our status", lambda: bed.policy().get("status", {}).get("operands") and bed.policy_ready()
                        and bed.policy()["status"], 60)
    assert not watch.lost, watch.lost
    assert bed.policy()["metadata"]["uid"] == left["policy"]
    assert set(operands(bed)) == left["pods"]
    for name, before in left["sets"].items():
        now = sets(bed)[name]
        assert now.metadata.uid == before.metadata.uid and now.spec == before.spec, name
    assert {one["name"]: one["state"] for one in told["operands"]}["state-driver"] == "ready"
    pod = bed.core.read_namespaced_pod("works", "default")
    assert pod.metadata.uid == uid and pod.status.container_statuses[0].restart_count == 0


def test_upgrades_of_drivers_are_ours(left):
    """Asked for by the node's annotation, as of NVIDIA's operator: its GPU pods go, and nothing happens elsewhere. The
    driver's pod is of the current template, so it stays.
    """
    bed = left["bed"]
    node, other = sorted(bed.nodes())
    bed.apply(bed.gpu_set("in-its-way", 1, node))
    first = wait_for("the GPU pod", lambda: bed.running_pod("in-its-way"), 60)
    with UpgradeWatch(bed) as seen:
        bed.kubectl("annotate", "node", node, "nvidia.com/gpu-driver-upgrade-requested=true")
        wait_for("the upgrade to be done", lambda: seen.done(node), 60)
    assert seen.steps == {node: UpgradeWatch.ALL, other: ["upgrade-done"]}
    second = wait_for("the GPU pod's successor", lambda: bed.running_pod("in-its-way"), 60)
    assert second.metadata.uid != first.metadata.uid
    assert set(operands(bed)) == left["pods"]
    assert bed.phase("works") == "Running"


def test_and_back_again(left):
    bed = left["bed"]
    before = set(operands(bed))
    with NodeWatch(bed) as watch:
        bed.helm("upgrade", "gpu-operator", str(left["chart"]), "-n", NAMESPACE, "--wait", "--timeout", "120s")
    assert not watch.lost, watch.lost
    assert bed.policy()["metadata"]["uid"] == left["policy"]
    assert set(operands(bed)) == before
    for name, was in left["sets"].items():
        now = sets(bed)[name]
        key = "nvidia.com/last-applied-hash"
        assert now.metadata.annotations[key] == was.metadata.annotations[key] and now.spec == was.spec, name
        assert not now.metadata.finalizers
    bed.helm("uninstall", "gpu-operator", "-n", NAMESPACE, "--wait", "--timeout", "120s")
    wait_for("all to go with its ClusterPolicy", lambda: not sets(bed), 60)
