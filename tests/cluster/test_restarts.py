"""The neighbours restart under a running GPU pod: it keeps running, and new ones still get GPUs."""

import pytest

from bed import NodeWatch, wait_for


@pytest.mark.parametrize("neighbour", ["kubelet", "containerd", "apiserver"])
def test_a_gpu_pod_survives_a_restart_of(bed, node, neighbour):
    name, after = f"under-{neighbour}", f"after-{neighbour}"
    bed.apply(bed.gpu_pod(name, 1, node=node))
    bed.wait_phase(name, "Running")
    given = bed.pod_resources(node)[name]
    with NodeWatch(bed) as watch:
        bed.do("restart", neighbour, *([] if neighbour == "apiserver" else [node]))
        wait_for("GPUs to be registered", lambda: registered(bed, node) == 8, 60)
        wait_for("allocatable", lambda: ready_with_gpus(bed, node), 60)
        bed.apply(bed.gpu_pod(after, 1, node=node))
        bed.wait_phase(after, "Running", 90)
    pod = bed.core.read_namespaced_pod(name, "default")
    assert pod.status.phase == "Running" and pod.status.container_statuses[0].restart_count == 0
    assert bed.pod_resources(node)[name] == given
    assert bed.in_pod(name, "nvidia-smi", "-L").count("UUID: GPU-") == 1
    assert not [lost for lost in watch.lost if "label" in lost], watch.lost
    bed.delete_pods(name, after)
    # The operator has found its watches again too.
    bed.kubectl("label", "node", node, "nvidia.com/gpu.present-")
    wait_for("the label to come back", lambda: "nvidia.com/gpu.present" in bed.labels(node), 30)


def registered(bed, node):
    """How many GPUs the kubelet lists; none while it does not answer."""
    done = bed.run("exec", node, "/usr/local/bin/node_probe", "allocatable")
    return sum(line.startswith("nvidia.com/") for line in done.stdout.splitlines())


def ready_with_gpus(bed, node):
    status = bed.core.read_node(node).status
    return (any(c.type == "Ready" and c.status == "True" for c in status.conditions)
            and status.allocatable.get("nvidia.com/gpu") == "8")
