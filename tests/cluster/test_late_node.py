"""A node that an autoscaler adds, tainted from its first moment, becomes allocatable."""

from bed import wait_for


def test_a_tainted_node_that_joins_late_becomes_allocatable(bed):
    late = bed.late_node()
    wait_for("its GPUs", lambda: bed.allocatable(late) == 8, 90)
    bed.apply(bed.gpu_pod("on-late-node", 1, "nvidia-smi -L", late))
    bed.wait_phase("on-late-node", "Succeeded", 90)
    bed.delete_pods("on-late-node")
