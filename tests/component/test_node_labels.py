# SPDX-License-Identifier: Apache-2.0
"""From a machine to its Node: what GPU feature discovery and the validator find on a fake machine reaches the Node through
the operator, beside a real API server. The servers are those of test_operator.py, the machines those of test_features.py.
"""

import os

import pytest
from control_plane import wait
from test_features import Machine, start  # noqa: F401 (fixture)
from test_operator import (  # noqa: F401 (fixtures)
    POLICIES, SPACE, Operator, labels, new_node, plane, policy, settled)

TAINT = "vendor.com/starting"
VALIDATION = "nvidia.com/gpu.validation"


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):  # noqa: F811
    plane.call("POST", POLICIES, policy("cluster-policy", driver={"enabled": False}))
    with Operator(plane, build, tmp_path_factory.mktemp("operator"), STARTUP_TAINT=TAINT) as operator:
        yield operator


MIG = "nvidia.com/mig-1g.10gb."
EXPECTED = {
    "mixed": {"nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
              MIG + "count": "56", MIG + "product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", MIG + "slices.gi": "1",
              MIG + "memory": "9856", MIG + "replicas": "1", MIG + "sharing-strategy": "none"},
    "single": {"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.count": "56", "nvidia.com/gpu.memory": "9856",
               "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/gpu.slices.gi": "1"},
    "none": {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"},
}


def test_mig_labels_of_each_strategy_reach_the_node(plane, operator, build, start, tmp_path):  # noqa: F811
    new_node(plane, "divided")
    machine = Machine(tmp_path, build, "8xa100-80-mig", "divided")
    machine.driver_ready()
    for strategy, expected in EXPECTED.items():
        agent = start("gpu-feature-discovery", f"--kubeconfig={plane.kubeconfig}", f"--status-dir={machine.status}",
                      f"--sys-root={machine.sys}", NODE_NAME="divided", NAMESPACE=SPACE,
                      WAIT_FOR_VALIDATIONS="driver-ready", MIG_STRATEGY=strategy)
        wait(lambda now=strategy: labels(plane, "divided").get("nvidia.com/mig.strategy", "none") == now
             and "nvidia.com/gpu.count" in labels(plane, "divided"), f"labels of the strategy {strategy}")
        settled(plane)
        found = labels(plane, "divided")
        assert expected.items() <= found.items(), strategy
        assert found["nvidia.com/mig.capable"] == "true" and found["nvidia.com/gpu.deploy.mig-manager"] == "true"
        # What another strategy gave is gone from the Node too.
        assert any(key.startswith(MIG) for key in found) == (strategy == "mixed")
        assert ("nvidia.com/gpu.slices.gi" in found) == (strategy == "single")
        assert agent.close() == 0
        settled(plane)
        assert labels(plane, "divided") == found


def host_with_driver(folder):
    """Files of a driver that the validator looks at without asking it."""
    library = folder / "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01"
    for path in (library.parent, folder / "dev", folder / "proc/driver/nvidia"):
        path.mkdir(parents=True)
    library.write_text("a library")
    (library.parent / "libnvidia-ml.so.1").symlink_to(library.name)
    (library.parent / "libcuda.so.1").write_text("one that the validator can't ask")
    (folder / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu\n")
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0"):
        device_node(folder / "dev" / name)
    return folder


def device_node(path):
    os.mknod(path, 0o666 | 0o020000, os.makedev(1, 3))


def tainted(plane, node):  # noqa: F811
    return TAINT in [taint["key"] for taint in plane.get(f"/api/v1/nodes/{node}")["spec"].get("taints", [])]


def test_op2685_a_node_is_open_for_pods_while_its_validation_stands(plane, operator, build, start, tmp_path):  # noqa: F811
    new_node(plane, "checked")
    wait(lambda: tainted(plane, "checked"), "the start-up taint of a new GPU node")
    assert labels(plane, "checked")["nvidia.com/gpu.present"] == "true"
    host = host_with_driver(tmp_path / "host")
    words = ["nvidia-validator", f"--host-root-mount={host}", f"--output-dir={tmp_path}/status",
             f"--dev-char-dir={tmp_path}/char", "--driver-validation-skip-gpu-init"]
    environment = {"KUBECONFIG": plane.kubeconfig, "NODE_NAME": "checked", "OPERATOR_NAMESPACE": SPACE, "PUBLISH": "true",
                   "WITH_TOOLKIT": "false", "WITH_PLUGIN": "false"}
    validator = start(*words, **environment)
    wait(lambda: labels(plane, "checked").get(VALIDATION) == "ready", "the validation")
    wait(lambda: not tainted(plane, "checked"), "the taint's end")
    stored = plane.get(f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{SPACE}/nodefeatures/nvidia-validation-for-checked")
    assert "ownerReferences" not in stored["metadata"], "a Node that is deleted may register anew"
    # What stops being true closes the node again, with the reason; the rest of its labels stays.
    before = labels(plane, "checked")
    (host / "dev/nvidia-uvm").unlink()
    wait(lambda: labels(plane, "checked").get(VALIDATION) == "DeviceNodeMissing", "the reason", 15)
    wait(lambda: tainted(plane, "checked"), "the taint")
    assert {**labels(plane, "checked"), VALIDATION: "ready"} == before
    wait(lambda: any(event["reason"] == "DeviceNodeMissing" and "nvidia-uvm" in event["message"] for event in
                     plane.get("/api/v1/events?fieldSelector=involvedObject.name=checked")["items"]), "the event")
    device_node(host / "dev/nvidia-uvm")
    wait(lambda: labels(plane, "checked").get(VALIDATION) == "ready" and not tainted(plane, "checked"), "the node is open")
    # The end of a validator is no news, nor is the start of one that finds the same.
    assert validator.close() == 0
    count = settled(plane)
    start(*words, **environment)
    wait(lambda: (tmp_path / "status/driver-ready").exists(), "the next one's check")
    assert settled(plane) == count and not tainted(plane, "checked")
