"""GPUs are divided by a label of their node, as the chart is installed; who uses one is not cut off."""

from bed import wait_for
from findings import doctor, nothing_wrong, says

LAYOUT, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"


def ask(bed, node, layout, state="success", timeout=60):
    """Asks for a layout, and waits for its state. The last one's may be the same, so the message tells them apart."""
    said = f"the MIG layout is {layout}" if state == "success" else f"{layout}: "
    bed.kubectl("label", "--overwrite", "node", node, f"{LAYOUT}={layout}")
    wait_for(f"{layout}: {state}", lambda: message(bed, node).startswith(said)
             and bed.labels(node).get(STATE) == state, timeout)


def message(bed, node):
    """What the node's MIG manager says of its state."""
    feature = bed.custom.get_namespaced_custom_object("nfd.k8s-sigs.io", "v1alpha1", "gpu-operator", "nodefeatures",
                                                      f"nvidia-mig-for-{node}")
    return feature["metadata"]["annotations"]["nvidia.com/mig.config-message"]


def offered(bed, node, resource, count):
    wait_for(f"{count} {resource}", lambda: bed.allocatable(node, resource) == count, 60)


def mig_manager(bed):
    return next(o for o in bed.policy()["status"]["operands"] if o["name"] == "state-mig-manager")


def test_a_node_without_a_wish_has_the_default(bed, node):
    for name in bed.nodes():
        wait_for("the default layout", lambda: bed.labels(name).get(STATE) == "success", 60)
        assert bed.labels(name)[LAYOUT] == "all-disabled"
    assert mig_manager(bed)["state"] == "ready", mig_manager(bed)


def test_a_label_divides_the_gpus_of_one_node(bed, node):
    other = next(name for name in bed.nodes() if name != node)
    ask(bed, node, "all-1g.10gb")
    offered(bed, node, "nvidia.com/gpu", 56)
    # GPU feature discovery looks once a minute.
    wait_for("labels", lambda: bed.labels(node).get("nvidia.com/gpu.product", "").endswith("-MIG-1g.10gb"), 90)
    assert bed.allocatable(other) == 8
    bed.apply(bed.gpu_pod("divided", 1, "nvidia-smi -L", node))
    bed.wait_phase("divided", "Succeeded", 60)
    listed = bed.kubectl("logs", "divided")
    assert listed.count("UUID: MIG-") == 1 and "MIG 1g.10gb" in listed, listed
    bed.delete_pods("divided")


def test_under_mixed_each_profile_is_a_resource(bed, node):
    bed.patch_policy({"mig": {"strategy": "mixed"}})
    try:
        ask(bed, node, "all-balanced")
        for profile, count in (("1g.10gb", 16), ("2g.20gb", 8), ("3g.40gb", 8)):
            offered(bed, node, f"nvidia.com/mig-{profile}", count)
            bed.apply(bed.gpu_pod(f"mig-{profile}", 1, "nvidia-smi -L", node, f"nvidia.com/mig-{profile}"))
            bed.wait_phase(f"mig-{profile}", "Succeeded", 60)
            assert f"MIG {profile}" in bed.kubectl("logs", f"mig-{profile}")
            bed.delete_pods(f"mig-{profile}")
        offered(bed, node, "nvidia.com/gpu", 0)
    finally:
        bed.patch_policy({"mig": {"strategy": "single"}})
        wait_for("the plugin of the strategy single", lambda: bed.allocatable(node, "nvidia.com/mig-2g.20gb") == 0, 60)
        # Else it lists the resources that are no more for five minutes, as unhealthy.
        bed.do("restart", "kubelet", node)


def test_who_uses_a_gpu_is_named_and_not_cut_off(bed, node):
    ask(bed, node, "all-1g.10gb")
    offered(bed, node, "nvidia.com/gpu", 56)
    bed.apply(bed.gpu_pod("holder", 1, node=node))
    bed.wait_phase("holder", "Running", 60)
    ask(bed, node, "all-3g.40gb", "failed")
    assert "pod default/holder" in message(bed, node)
    assert bed.allocatable(node) == 56 and bed.phase("holder") == "Running"
    wait_for("the policy to say so", lambda: mig_manager(bed).get("reason") == "MigChangeFailed", 30)
    told = mig_manager(bed)
    assert told["state"] == "notReady" and node in told["message"] and "pod default/holder" in told["message"]
    assert "MigChangeFailed" in [one["code"] for one in doctor(bed)[1]]
    bed.delete_pods("holder")
    wait_for("the layout", lambda: bed.labels(node)[STATE] == "success", 60)
    offered(bed, node, "nvidia.com/gpu", 16)
    wait_for("the policy to be ready", bed.policy_ready, 30)


def test_a_pod_is_evicted_for_a_layout(bed, node):
    ask(bed, node, "all-1g.10gb")
    offered(bed, node, "nvidia.com/gpu", 56)
    bed.apply(bed.gpu_pod("holder", 1, node=node))
    bed.wait_phase("holder", "Running", 60)
    rule = "nvidia.com/gpu-operator.mig-gpu-holders"
    bed.kubectl("annotate", "node", node, f'{rule}={{"action": "evict", "force": true}}')
    try:
        ask(bed, node, "all-3g.40gb", timeout=90)
        assert "pod/holder" not in bed.kubectl("get", "pods", "-o", "name")
        told = bed.kubectl("get", "events", "--field-selector", f"involvedObject.name={node}")
        assert "MigConfigRemovesPods" in told and "MigConfigGivenUp" not in told, told
    finally:
        bed.kubectl("annotate", "node", node, f"{rule}-")
        bed.delete_pods("holder")
    offered(bed, node, "nvidia.com/gpu", 16)
    wait_for("the policy to be ready", bed.policy_ready, 30)


def test_a_layout_that_is_not_known_changes_nothing(bed, node):
    before = bed.allocatable(node)
    ask(bed, node, "all-9g.90gb", "failed")
    assert "no such configuration" in message(bed, node)
    says(bed, "MigChangeFailed", f"node {node}", "all-9g.90gb")
    assert bed.allocatable(node) == before
    ask(bed, node, "all-disabled")
    offered(bed, node, "nvidia.com/gpu", 8)
    nothing_wrong(bed)
