"""A node that an autoscaler adds, tainted from its first moment, becomes allocatable, and that is no alarm."""

from findings import alarms_until, nothing_wrong


def test_a_tainted_node_that_joins_late_becomes_allocatable(bed):
    late = bed.late_node()
    alarms = alarms_until(bed, "its GPUs", lambda: bed.allocatable(late) == 8, 90)
    alarms += alarms_until(bed, "the policy to be ready", bed.policy_ready, 60)
    assert not alarms, alarms
    nothing_wrong(bed)
    bed.apply(bed.gpu_pod("on-late-node", 1, "nvidia-smi -L", late))
    bed.wait_phase("on-late-node", "Succeeded", 90)
    bed.delete_pods("on-late-node")
