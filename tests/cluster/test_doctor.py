"""`gantry doctor` names in one line what users search for longest; a support bundle has what a report needs."""

import subprocess
import tarfile

import pytest

from bed import NAMESPACE, ROOT, wait_for


def gantry(bed, word, *flags):
    return subprocess.run([str(ROOT / "build" / "release" / "bin" / "gantry"), word, "--kubeconfig", bed.kubeconfig,
                           *flags], text=True, capture_output=True, check=False, timeout=120)


def doctor(bed):
    done = gantry(bed, "doctor")
    return done.returncode, done.stdout


@pytest.fixture
def tainted(bed, node):
    for name in bed.nodes():
        bed.kubectl("taint", "node", name, "nvidia.com/gpu=present:NoSchedule")
    yield
    for name in bed.nodes():
        bed.kubectl("taint", "node", name, "nvidia.com/gpu-")


def finds(bed, pod, word):
    return [line for line in doctor(bed)[1].splitlines() if pod in line and word in line]


def test_nothing_wrong_nothing_said(bed):
    code, said = doctor(bed)
    assert code == 0, said


def test_a_missing_toleration(bed, tainted):
    pod = bed.gpu_pod("no-toleration", 1)
    pod["spec"]["tolerations"] = []
    bed.apply(pod)
    assert len(wait_for("the finding", lambda: finds(bed, "no-toleration", "toleration"), 20)) == 1
    bed.delete_pods("no-toleration")


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
    assert len(wait_for("the finding", lambda: finds(bed, "no-limits", "limits"), 30)) == 1
    bed.kubectl("delete", "namespace", "limited")


def test_more_gpus_than_any_node_has(bed):
    bed.apply(bed.gpu_pod("too-many", 9))
    assert len(wait_for("the finding", lambda: finds(bed, "too-many", "9"), 20)) == 1
    bed.delete_pods("too-many")


def test_an_operand_without_its_image(bed):
    bed.patch_policy({"gfd": {"repository": "localhost", "image": "nothing", "version": "1"}})
    try:
        found = wait_for("the finding", lambda: finds(bed, "gpu-feature-discovery", "its image localhost/nothing:1"), 60)
        assert len(found) == 1, found
    finally:
        bed.kubectl("patch", "clusterpolicy", "cluster-policy", "--type=merge", "-p",
                    '{"spec": {"gfd": {"repository": null, "image": null, "version": null}}}')
    wait_for("nothing to be wrong", lambda: doctor(bed)[0] == 0, 90)


def test_a_support_bundle(bed, tmp_path):
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
