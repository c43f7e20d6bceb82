"""A GPU that fails goes out of service alone, says why, and comes back when it recovers."""

import pytest

from bed import wait_for
from findings import nothing_wrong, says


@pytest.mark.parametrize("fault", ["lose", "fail"])
def test_a_failed_gpu_is_unhealthy_alone_and_comes_back(bed, node, fault):
    uuid = bed.gpus(node)[3]["uuid"]
    bed.gpu(node, fault, "3")
    try:
        wait_for("one GPU less", lambda: bed.allocatable(node) == 7, 45)
        wait_for("an event that says which and why", lambda: any(
            uuid in (e.message or "") for e in bed.core.list_event_for_all_namespaces().items
            if e.reason == "GPUUnhealthy"), 15)
        says(bed, "GpusUnhealthy", f"node {node}", "1 of its 8 GPUs", uuid)
    finally:
        bed.gpu(node, "recover", "3")
    wait_for("the GPU to come back", lambda: bed.allocatable(node) == 8, 45)
    nothing_wrong(bed)


def test_an_application_error_leaves_the_gpu_in_service(bed, node):
    """XID 31 is a fault of the program, 79 one of the GPU: it alone goes, and comes back when a probe answers."""
    before = set(bed.allocatable_ids(node))
    assert len(before) == 8
    lost = bed.gpus(node)[4]["uuid"]
    # The driver tells of them in this order: when the second has been heard, so has the first.
    bed.gpu(node, "xid", "2", "31")
    bed.gpu(node, "xid", "4", "79")
    gone = wait_for("the GPU that fell off the bus to go", lambda: before - set(bed.allocatable_ids(node)), 45)
    assert gone == {lost}
    wait_for("it to be probed and to come back", lambda: set(bed.allocatable_ids(node)) == before, 60)
    wait_for("the node to say so", lambda: bed.allocatable(node) == 8, 15)
