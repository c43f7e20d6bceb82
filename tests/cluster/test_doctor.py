"""`gantry doctor` names in one line what users search for longest."""

import pytest

from bed import ROOT, wait_for


def doctor(bed):
    import subprocess
    done = subprocess.run([str(ROOT / "build" / "release" / "bin" / "gantry"), "doctor", "--kubeconfig", bed.kubeconfig],
                          text=True, capture_output=True, check=False, timeout=60)
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
