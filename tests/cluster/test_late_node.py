"""A node that an autoscaler adds, tainted from its first moment, becomes allocatable, and that is no alarm."""

from bed import wait_for
from findings import alarms_until, nothing_wrong


def test_a_tainted_node_that_joins_late_becomes_allocatable(bed):
    late = bed.late_node()
    # In a bed the image comes after the node: pods that have looked for it in vain are no alarm in vain.
    wait_for("its pods to find their image", lambda: not awaited_images(bed, late), 60)
    alarms = alarms_until(bed, "its GPUs", lambda: bed.allocatable(late) == 8, 90)
    alarms += alarms_until(bed, "the policy to be ready", bed.policy_ready, 60)
    assert not alarms, alarms
    nothing_wrong(bed)
    bed.apply(bed.gpu_pod("on-late-node", 1, "nvidia-smi -L", late))
    bed.wait_phase("on-late-node", "Succeeded", 90)
    bed.delete_pods("on-late-node")


def awaited_images(bed, node):
    waiting = [s.state.waiting for p in bed.pods(node=node)
               for s in (p.status.init_container_statuses or []) + (p.status.container_statuses or [])]
    return [w.reason for w in waiting if w and w.reason in ("ErrImagePull", "ImagePullBackOff")]
