"""`gantry doctor` names in one line what users search for longest; a support bundle has what a report needs."""

import json
import tarfile

import pytest

from bed import NAMESPACE, wait_for
from findings import doctor, gantry, nothing_wrong, says


def roll_outs(bed):
    """The DaemonSets that replace pods, and the pods that are being deleted."""
    sets = json.loads(bed.kubectl("-n", NAMESPACE, "get", "daemonsets", "-o", "json"))["items"]
    going_on = [one["metadata"]["name"] for one in sets
                if one["metadata"]["generation"] != one["status"].get("observedGeneration")
                or one["status"].get("updatedNumberScheduled", 0) != one["status"]["desiredNumberScheduled"]]
    return going_on + [pod.metadata.name for pod in bed.pods() if pod.metadata.deletion_timestamp]


@pytest.fixture
def tainted(bed, node):
    for name in bed.nodes():
        bed.kubectl("taint", "node", name, "nvidia.com/gpu=present:NoSchedule")
    yield
    for name in bed.nodes():
        bed.kubectl("taint", "node", name, "nvidia.com/gpu-")


def test_nothing_wrong_nothing_said(bed):
    code, found = doctor(bed)
    assert code == 0, found


def test_a_missing_toleration(bed, tainted):
    pod = bed.gpu_pod("no-toleration", 1)
    pod["spec"]["tolerations"] = []
    bed.apply(pod)
    says(bed, "TolerationMissing", "pod default/no-toleration", "{key: nvidia.com/gpu, operator: Exists}")
    bed.delete_pods("no-toleration")
    nothing_wrong(bed)


def test_requests_without_limits(bed):
    # The API server refuses such a Deployment itself; its pods are refused when something gives
    # them a request on their way: here the default request of a LimitRange.
    bed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "limited"}},
              {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "gpus", "namespace": "limited"},
               "spec": {"limits": [{"type": "Container", "defaultRequest": {"nvidia.com/gpu": 1}}]}})
    pod = bed.gpu_pod("x", 1)["spec"] | {"restartPolicy": "Always"}
    pod["containers"][0]["resources"] = {}
    bed.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "no-limits", "namespace": "limited"},
               "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "no-limits"}},
                        "template": {"metadata": {"labels": {"a": "no-limits"}}, "spec": pod}}})
    says(bed, "LimitsMissing", "Deployment limited/no-limits")
    bed.kubectl("delete", "namespace", "limited")
    nothing_wrong(bed)


def test_more_gpus_than_any_node_has(bed):
    bed.apply(bed.gpu_pod("too-many", 9))
    says(bed, "MoreGpusThanAnyNode", "pod default/too-many", "9 nvidia.com/gpu")
    bed.delete_pods("too-many")
    nothing_wrong(bed)


def test_an_operand_without_its_image(bed):
    bed.patch_policy({"gfd": {"repository": "localhost", "image": "nothing", "version": "1"}})
    try:
        # No registry is on this machine.
        says(bed, "RegistryUnreachable", "DaemonSet gpu-feature-discovery", "its image localhost/nothing:1", timeout=90)
    finally:
        bed.patch_policy({"gfd": {"repository": None, "image": None, "version": None}})
    nothing_wrong(bed, 90)


def test_a_support_bundle(bed, tmp_path):
    # A pod that is deleted between the list of pods and its log is named in errors.txt, as it should be: none may be.
    wait_for("no roll-out going on", lambda: not roll_outs(bed), 90)
    bed.kubectl("-n", NAMESPACE, "create", "secret", "generic", "licence", "--from-literal=key=hunter2")
    try:
        done = gantry(bed, "support-bundle", "--output", str(tmp_path / "bundle.tar.gz"))
    finally:
        bed.kubectl("-n", NAMESPACE, "delete", "secret", "licence")
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / "bundle.tar.gz") as tar:
        files = {member.name.partition("/")[2]: tar.extractfile(member).read().decode() for member in tar}
    # A kubelet may have removed the run before the last.
    wrong = [line for line in files["errors.txt"].splitlines() if ".previous.log" not in line]
    assert wrong in ([], ["nothing went wrong"]), wrong
    assert not [name for name, text in files.items() if "hunter2" in text]
    for pod in bed.pods("nvidia-device-plugin-daemonset"):
        log = [text for name, text in files.items() if name.startswith(f"logs/{pod.metadata.name}/")]
        assert log and log[0], f"no log of {pod.metadata.name}"


def test_the_doctor_works_in_the_operators_pod(bed):
    said = bed.kubectl("-n", NAMESPACE, "exec", "deploy/gpu-operator", "--", "gantry", "doctor")
    assert "NotPermitted" not in said, said
