"""A driver that runs in a container is upgraded: node by node it is cordoned, its GPU pods go, the driver is exchanged,
and it takes pods again.
"""

import pytest

import driver_image
from bed import UpgradeWatch, wait_for

DRIVER = {"repository": "localhost", "image": "driver", "version": "1"}
OFF = {"driver": {"enabled": False, "repository": None, "image": None, "version": None, "manager": None,
                  "startupProbe": None, "upgradePolicy": None}}


@pytest.fixture
def contained(bed):
    """Nodes whose driver is no longer on the host but comes in a container."""
    driver_image.load(bed, ["localhost/driver:1-debian12", "localhost/driver:2-debian12", "localhost/manager:1"])
    nodes = sorted(bed.nodes())
    try:
        for node in nodes:
            bed.exec(node, "sh", "-c", driver_image.PACK)
        bed.patch_policy({"driver": DRIVER | {
            "enabled": True, "manager": DRIVER | {"image": "manager"},
            "startupProbe": {"initialDelaySeconds": 1, "periodSeconds": 1},
            "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": 1, "podDeletion": {"timeoutSeconds": 60}}}})
        for node in nodes:
            wait_for(f"the driver's pod on {node}", lambda n=node: drivers(bed, "1").get(n), 90)
            wait_for("its GPUs", lambda n=node: bed.allocatable(n) == 8
                     and bed.labels(n).get(UpgradeWatch.LABEL) == "upgrade-done", 60)
        yield nodes
    finally:
        bed.patch_policy(OFF)
        wait_for("the drivers' pods to end", lambda: not bed.pods("nvidia-driver-daemonset"), 60)
        for node in nodes:
            bed.exec(node, "sh", "-c", driver_image.UNPACK)
        for node in nodes:
            wait_for(f"the GPUs of {node}", lambda n=node: bed.allocatable(n) == 8, 60)
        wait_for("the policy to be ready", bed.policy_ready, 60)


def drivers(bed, version):
    """Node -> whether its driver's pod is of that version and ready."""
    return {p.spec.node_name: p.spec.containers[0].image == f"localhost/driver:{version}-debian12"
            and any(c.type == "Ready" and c.status == "True" for c in p.status.conditions or [])
            for p in bed.pods("nvidia-driver-daemonset")}


def test_a_new_driver_comes_node_by_node(bed, contained):
    bed.apply(bed.gpu_set("in-its-way", 2, contained[0]))
    try:
        first = wait_for("the GPU pod", lambda: bed.running_pod("in-its-way"), 60)
        with UpgradeWatch(bed) as seen:
            bed.patch_policy({"driver": {"version": "2"}})
            wait_for("every node to have its new driver", lambda: drivers(bed, "2") == dict.fromkeys(contained, True)
                     and all(map(seen.done, contained)), 120)
        assert seen.steps == dict.fromkeys(contained, UpgradeWatch.ALL)
        assert seen.most_cordoned == 1
        assert not any(n.spec.unschedulable for n in bed.nodes().values())
        for n in contained:
            wait_for(f"the GPUs of {n}", lambda n=n: bed.allocatable(n) == 8, 30)
        # The pod went, and its successor runs with the new driver: the old one's files are gone.
        second = wait_for("its successor", lambda: bed.running_pod("in-its-way"), 60)
        assert second.metadata.uid != first.metadata.uid
        assert bed.in_pod(second.metadata.name, "nvidia-smi", "-L").count("UUID: GPU-") == 2
        mounts = bed.in_pod(second.metadata.name, "cat", "/proc/self/mountinfo")
        assert "/nvidia/package/" in mounts and "deleted" not in mounts
        wait_for("the policy to be ready", bed.policy_ready, 60)
    finally:
        bed.kubectl("delete", "replicaset", "in-its-way", "--now", "--wait")
