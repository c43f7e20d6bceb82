"""A driver that runs in a container. It fails beside the host's driver and without a package for the kernel, and the
doctor says so. It is upgraded: node by node it is cordoned, its GPU pods go, the driver is exchanged, and it takes pods
again.
"""

import pytest

import driver_image
from bed import NAMESPACE, UpgradeWatch, wait_for
from findings import nothing_wrong, says

DRIVERS = "nvidia-driver-daemonset"
DRIVER = {"repository": "localhost", "image": "driver", "version": "1"}
OFF = {"driver": {"enabled": False, "repository": None, "image": None, "version": None, "manager": None,
                  "startupProbe": None, "upgradePolicy": None}}


@pytest.fixture(scope="module")
def loaded(bed):
    """Nodes that have the images, and their own driver still."""
    driver_image.load(bed, ["localhost/driver:1-debian12", "localhost/driver:2-debian12", "localhost/manager:1"])
    driver_image.load(bed, ["localhost/driver:other-debian12"], driver_image.FOR_OTHER_KERNELS)
    return sorted(bed.nodes())


@pytest.fixture(scope="module")
def packed(bed, loaded):
    """Nodes whose driver is no longer on the host but comes in a container."""
    try:
        for node in loaded:
            bed.exec(node, "sh", "-c", driver_image.PACK)
        yield loaded
    finally:
        switch_off(bed)
        for node in loaded:
            bed.exec(node, "sh", "-c", driver_image.UNPACK)
        for node in loaded:
            wait_for(f"the GPUs of {node}", lambda n=node: bed.allocatable(n) == 8, 60)
        wait_for("the policy to be ready", bed.policy_ready, 60)


@pytest.fixture
def contained(bed, packed):
    """Such nodes with a driver that works."""
    ask_for(bed, "1")
    for node in packed:
        wait_for(f"the driver's pod on {node}", lambda n=node: drivers(bed, "1").get(n), 90)
        wait_for("its GPUs", lambda n=node: bed.allocatable(n) == 8
                 and bed.labels(n).get(UpgradeWatch.LABEL) == "upgrade-done", 60)
    return packed


def ask_for(bed, version):
    """That version of the driver, without waiting for pods of another to be exchanged node by node."""
    bed.patch_policy({"driver": DRIVER | {
        "version": version, "enabled": True, "manager": DRIVER | {"image": "manager"},
        "startupProbe": {"initialDelaySeconds": 1, "periodSeconds": 1},
        "upgradePolicy": {"autoUpgrade": True, "maxUnavailable": 1, "podDeletion": {"timeoutSeconds": 60}}}})
    image = f"localhost/driver:{version}-debian12"
    wait_for("the driver's DaemonSet", lambda: any(
        s.metadata.name == DRIVERS and s.spec.template.spec.containers[0].image == image
        for s in bed.apps.list_namespaced_daemon_set(NAMESPACE).items), 60)
    others = [p.metadata.name for p in bed.pods(DRIVERS) if p.spec.containers[0].image != image]
    if others:
        bed.kubectl("-n", NAMESPACE, "delete", "pod", "--now", "--ignore-not-found", *others)


def switch_off(bed):
    bed.patch_policy(OFF)
    wait_for("the drivers' pods to end", lambda: not bed.pods(DRIVERS), 60)


def drivers(bed, version):
    """Node -> whether its driver's pod is of that version and ready."""
    return {p.spec.node_name: p.spec.containers[0].image == f"localhost/driver:{version}-debian12"
            and any(c.type == "Ready" and c.status == "True" for c in p.status.conditions or [])
            for p in bed.pods(DRIVERS)}


def test_a_driver_container_beside_the_hosts_driver(bed, loaded):
    try:
        ask_for(bed, "1")
        says(bed, "DriverConflict", f"DaemonSet {DRIVERS}", f"on {', '.join(loaded)}", "already loaded on the node",
             timeout=60)
    finally:
        switch_off(bed)
    nothing_wrong(bed)


def test_a_driver_without_a_package_for_the_kernel(bed, packed):
    ask_for(bed, "other")
    says(bed, "DriverKernelMismatch", f"DaemonSet {DRIVERS}", f"on {', '.join(packed)}", timeout=90)
    ask_for(bed, "1")
    nothing_wrong(bed, 120)


def test_a_new_driver_comes_node_by_node(bed, contained):
    bed.apply(bed.gpu_set("in-its-way", 2, contained[0]),
              {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
               "metadata": {"name": "in-its-way", "namespace": "default"},
               "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "in-its-way"}}}})
    try:
        first = wait_for("the GPU pod", lambda: bed.running_pod("in-its-way"), 60)
        with UpgradeWatch(bed) as seen:
            bed.patch_policy({"driver": {"version": "2"}})
            says(bed, "DriverUpgradeHeldByBudget", f"node {contained[0]}", "default/in-its-way", timeout=60)
            bed.kubectl("delete", "poddisruptionbudget", "in-its-way")
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
        nothing_wrong(bed)
    finally:
        bed.kubectl("delete", "poddisruptionbudget", "in-its-way", "--ignore-not-found")
        bed.kubectl("delete", "replicaset", "in-its-way", "--now", "--wait")
