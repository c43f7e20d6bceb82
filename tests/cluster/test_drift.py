"""What drifts from the policy is put right; where nothing drifts, nothing is written."""

import json
import time

from bed import NAMESPACE, wait_for

PLUGIN = "nvidia-device-plugin-daemonset"


def test_an_edited_daemonset_is_repaired(bed):
    bed.apps.patch_namespaced_daemon_set(PLUGIN, NAMESPACE, {"spec": {"template": {"spec": {"containers": [
        {"name": "nvidia-device-plugin", "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "edited"}]}]}}}})

    def repaired():
        container = bed.apps.read_namespaced_daemon_set(PLUGIN, NAMESPACE).spec.template.spec.containers[0]
        return {e.name: e.value for e in container.env}["FAIL_ON_INIT_ERROR"] == "true"
    wait_for("the DaemonSet to be repaired", repaired, 10)


def test_a_deleted_object_comes_back(bed):
    bed.kubectl("-n", NAMESPACE, "delete", "serviceaccount", "nvidia-device-plugin")
    bed.kubectl("delete", "runtimeclass", "nvidia")
    bed.kubectl("-n", NAMESPACE, "delete", "daemonset", "gpu-feature-discovery")
    wait_for("the service account", lambda: "nvidia-device-plugin" in bed.kubectl(
        "-n", NAMESPACE, "get", "serviceaccounts", "-o", "name"), 10)
    wait_for("the runtime class", lambda: "/nvidia\n" in bed.kubectl("get", "runtimeclass", "-o", "name"), 10)
    wait_for("the DaemonSet", lambda: "gpu-feature-discovery" in bed.kubectl(
        "-n", NAMESPACE, "get", "daemonsets", "-o", "name"), 10)


def test_a_removed_label_comes_back(bed, node):
    for key in ("nvidia.com/gpu.present", "nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.product"):
        bed.kubectl("label", "node", node, f"{key}-")
        wait_for(f"label {key}", lambda: key in bed.labels(node), 10)


def test_the_switch_for_one_node_takes_its_operands_away_and_brings_them_back(bed, node):
    bed.kubectl("label", "node", node, "nvidia.com/gpu.deploy.operands=false")
    wait_for("no plugin pod", lambda: not bed.pods(PLUGIN, node=node), 30)
    bed.kubectl("label", "node", node, "nvidia.com/gpu.deploy.operands-")
    wait_for("the plugin pod", lambda: bed.pods(PLUGIN, node=node), 30)
    wait_for("GPUs", lambda: bed.allocatable(node) == 8, 30)


def test_an_operand_switched_off_goes_and_comes_back(bed):
    bed.patch_policy({"gfd": {"enabled": False}})
    wait_for("no feature discovery pods", lambda: not bed.pods("gpu-feature-discovery"), 60)
    bed.patch_policy({"gfd": {"enabled": True}})
    wait_for("feature discovery pods", lambda: len(bed.pods("gpu-feature-discovery")) == 2, 30)
    wait_for("the policy to be ready", bed.policy_ready, 30)


def test_a_quiet_cluster_is_not_written_to(bed):
    wait_for("the policy to be ready", bed.policy_ready, 30)
    time.sleep(15)  # what the stories before set in motion comes to rest
    bed.do("audit", "--reset")
    time.sleep(20)
    counted = json.loads(bed.do("audit", "--json", "--by", "agent,verb,resource"))
    # The lease is renewed; an event may still count what the stories before did.
    ours = [c for c in counted if c["agent"].startswith("gantry")
            and not any(word in c["resource"] for word in ("leases", "events"))]
    assert not [c for c in ours if c["verb"] != "watch"], ours
