"""A pod gets exactly the GPUs that it was given."""

import re

from bed import wait_for


def seen(bed, pod):
    return sorted(re.findall(r"UUID: (GPU-[0-9a-f-]+)", bed.in_pod(pod, "nvidia-smi", "-L")))


def test_a_pod_sees_the_gpu_it_was_given_and_no_other(bed, node):
    bed.apply(bed.gpu_pod("one", 1, node=node))
    bed.wait_phase("one", "Running")
    given = bed.pod_resources(node)["one"]
    assert len(given) == 1 and seen(bed, "one") == given
    minor = next(g["minor"] for g in bed.gpus(node) if g["uuid"] == given[0])
    nodes = bed.in_pod("one", "sh", "-c", "ls -d /dev/nvidia[0-9]*").split()
    assert nodes == [f"/dev/nvidia{minor}"]
    bed.delete_pods("one")


def test_a_pod_that_asks_for_none_sees_none(bed, node):
    # Images of CUDA set the variable; neither alone nor under NVIDIA's runtime is it a request.
    for name, spec in (("none", {}), ("none-by-runtime", {"runtimeClassName": "nvidia"})):
        pod = bed.gpu_pod(name, 1, node=node, **spec)
        pod["spec"]["containers"][0] |= {"resources": {}, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
        bed.apply(pod)
        bed.wait_phase(name, "Running")
        assert "nvidia" not in bed.in_pod(name, "ls", "/dev")
    bed.delete_pods("none", "none-by-runtime")


def test_as_many_pods_as_gpus_each_with_another_and_one_more_waits(bed, node):
    names = [f"each-{i}" for i in range(8)]
    bed.apply(*(bed.gpu_pod(n, 1, node=node) for n in names))
    for name in names:
        bed.wait_phase(name, "Running", 90)
    bed.apply(bed.gpu_pod("one-more", 1, node=node))
    held = bed.pod_resources(node)
    uuids = [seen(bed, name) for name in names]
    assert uuids == [held[name] for name in names]
    assert sorted(u for [u] in uuids) == sorted(g["uuid"] for g in bed.gpus(node))
    condition = wait_for("the scheduler's word on one-more", lambda: next(
        (c for c in bed.core.read_namespaced_pod("one-more", "default").status.conditions or []
         if c.type == "PodScheduled" and c.status == "False"), None))
    assert "Insufficient nvidia.com/gpu" in condition.message
    assert bed.phase("one-more") == "Pending"
    bed.delete_pods(*names, "one-more")


def test_four_gpus_come_as_a_set(bed, node):
    bed.apply(bed.gpu_pod("four", 4, node=node))
    bed.wait_phase("four", "Running")
    assert seen(bed, "four") == sorted(bed.pod_resources(node)["four"])
    assert len(seen(bed, "four")) == 4
    bed.delete_pods("four")
