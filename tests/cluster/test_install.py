"""Installed with Helm, waited for, and every node's GPUs are there."""

from bed import NAMESPACE, wait_for

OPERANDS = ["nvidia-container-toolkit-daemonset", "nvidia-device-plugin-daemonset", "gpu-feature-discovery",
            "nvidia-operator-validator"]


def test_every_node_gets_its_gpus_and_labels(bed):
    for name in bed.nodes():
        assert bed.allocatable(name) == 8
        wait_for(f"GPU labels of {name}", lambda: "nvidia.com/gpu.product" in bed.labels(name), 30)
        labels = bed.labels(name)
        gpu = bed.gpus(name)[0]
        assert labels["nvidia.com/gpu.present"] == "true"
        assert labels["nvidia.com/gpu.count"] == "8"
        assert labels["nvidia.com/gpu.product"] == gpu["name"].replace(" ", "-")
        assert labels["nvidia.com/gpu.family"] == "ampere"
        assert labels["nvidia.com/gpu.replicas"] == "1"
        assert labels["feature.node.kubernetes.io/pci-10de.present"] == "true"


def test_an_installation_that_takes_its_time_is_no_alarm(bed):
    """From when the operator runs until all is ready, which is some seconds here, and many minutes elsewhere."""
    assert not bed.first_alarms, bed.first_alarms


def test_every_gpu_is_an_object(bed):
    def seen():
        listed = bed.custom.list_cluster_custom_object("gpu.nvidia.com", "v1", "devices")["items"]
        return sorted((d["spec"]["node"], d["spec"]["index"], d["spec"].get("uuid")) for d in listed)

    there = sorted((name, index, gpu["uuid"]) for name in bed.nodes() for index, gpu in enumerate(bed.gpus(name)))
    wait_for("a Device for each GPU", lambda: seen() == there, 30)


def test_operands_run_once_on_each_node_without_restarts(bed):
    for app in OPERANDS:
        pods = bed.pods(app)
        assert sorted(p.spec.node_name for p in pods) == sorted(bed.nodes()), app
        # A start that the one restart of containerd has cut off is none of theirs: nothing ended then.
        ended = [s.last_state.terminated for p in pods for s in p.status.container_statuses if s.last_state.terminated]
        assert not ended, f"{app}: {ended}"


def test_the_policy_says_what_is_there_and_what_is_not(bed):
    # The MIG manager starts when a node's labels say that its GPUs can be divided.
    wait_for("the MIG manager", lambda: len(bed.pods("nvidia-mig-manager")) == len(bed.nodes()), 30)
    wait_for("the policy to be ready", bed.policy_ready, 30)
    status = bed.policy()["status"]
    conditions = {c["type"]: c for c in status["conditions"]}
    assert status["state"] == "ready" and status["namespace"] == NAMESPACE
    assert conditions["Ready"]["status"] == "True" and conditions["Ready"]["reason"] == "Reconciled"
    assert conditions["Error"]["status"] == "False"
    operands = {o["name"]: o for o in status["operands"]}
    assert operands["state-mig-manager"]["state"] == "ready", operands["state-mig-manager"]
    assert operands["state-dcgm-exporter"]["state"] == "ready", operands["state-dcgm-exporter"]


def test_validation_files_are_there(bed, node):
    files = wait_for("status files", lambda: "plugin-ready" in bed.exec(
        node, "ls", "/run/nvidia/validations") and bed.exec(node, "ls", "/run/nvidia/validations"))
    assert {"driver-ready", "toolkit-ready", "plugin-ready"} <= set(files.split())
    driver = bed.exec(node, "cat", "/run/nvidia/validations/driver-ready")
    assert "IS_HOST_DRIVER=true" in driver and "NVIDIA_DRIVER_ROOT=/" in driver


def test_runtime_class_nvidia_runs_a_pod(bed, node):
    bed.apply(bed.gpu_pod("by-runtime-class", 1, "nvidia-smi -L", node, runtimeClassName="nvidia"))
    bed.wait_phase("by-runtime-class", "Succeeded")
    assert bed.kubectl("logs", "by-runtime-class").count("UUID: GPU-") == 1
    bed.delete_pods("by-runtime-class")
