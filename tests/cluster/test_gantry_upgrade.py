"""Gantry is upgraded to another image under running GPU pods: no pod, label or allocatable goes."""

from bed import CHART, IMAGE, NAMESPACE, NodeWatch, wait_for

NEXT = "localhost/gantry:next"


def images(bed):
    return {c.image for p in bed.pods() for c in p.spec.containers}


def test_upgrade_under_running_pods(bed, node):
    bed.do("load", "all", str(IMAGE), "--ref", NEXT)
    bed.apply(bed.gpu_pod("stays", 2, node=node))
    bed.wait_phase("stays", "Running")
    with NodeWatch(bed) as watch:
        bed.helm("upgrade", "gpu-operator", str(CHART), "-n", NAMESPACE, "--reuse-values", "--wait",
                 "--set", "operator.version=next")
        wait_for("every pod of ours to run the new image", lambda: images(bed) == {NEXT}, 120)
        wait_for("the policy to be ready", bed.policy_ready, 60)
        wait_for("GPUs to be registered", lambda: len(bed.allocatable_ids(node)) == 8, 20)
    assert not watch.lost, watch.lost
    pod = bed.core.read_namespaced_pod("stays", "default")
    assert pod.status.phase == "Running" and pod.status.container_statuses[0].restart_count == 0
    assert bed.in_pod("stays", "nvidia-smi", "-L").count("UUID: GPU-") == 2
    bed.delete_pods("stays")
