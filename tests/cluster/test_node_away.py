"""A node is switched off for two minutes and comes back: its labels stay, its GPUs return."""

import time

from bed import wait_for
from findings import nothing_wrong, says

AWAY = 120


def ready(bed, node):
    return any(c.type == "Ready" and c.status == "True" for c in bed.core.read_node(node).status.conditions)


def test_a_node_is_away_for_two_minutes(bed):
    node = sorted(bed.nodes())[-1]
    labels = {k: v for k, v in bed.labels(node).items() if k.startswith("nvidia.com/")}
    bed.keep_operator_off(node)
    bed.do("stop-node", node)
    stopped = time.monotonic()
    wait_for("the node to be seen as away", lambda: not ready(bed, node), 90)
    says(bed, "NodeNotReady", f"node {node}")
    while time.monotonic() < stopped + AWAY:
        assert {k: v for k, v in bed.labels(node).items() if k.startswith("nvidia.com/")} == labels
        time.sleep(2)
    bed.do("start-node", node)
    wait_for("the node", lambda: ready(bed, node), 60)
    wait_for("its GPUs", lambda: bed.allocatable(node) == 8, 90)
    bed.apply(bed.gpu_pod("back", 1, "nvidia-smi -L", node))
    bed.wait_phase("back", "Succeeded", 60)
    bed.delete_pods("back")
    nothing_wrong(bed)
    assert {k: v for k, v in bed.labels(node).items() if k.startswith("nvidia.com/")} == labels
