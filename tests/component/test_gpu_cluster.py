# SPDX-License-Identifier: Apache-2.0
"""The operator with a GPUCluster beside a real API server. The build is $GANTRY_BUILD (default build/release)."""

import pytest
from control_plane import ControlPlane, Refused, wait
from test_operator import POLICIES, SETS, SPACE, Operator, labels, new_node, policy

CLUSTERS = "/apis/nvidia.com/v1alpha1/gpuclusters"
DRIVER = f"{SETS}/nvidia-dra-driver-kubelet-plugin"
RESOURCES = "/apis/resource.k8s.io/v1"
CLASS = f"{RESOURCES}/deviceclasses/gpu.nvidia.com"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
SLICE_POLICY = f"{ADMISSION}/validatingadmissionpolicies/resourceslices-policy-nvidia-dra-driver"
FINALIZER = "gpucluster.nvidia.com/dra-resourceclaim"


def gpu_cluster(name="gpu-cluster", **spec):
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "metadata": {"name": name},
            "spec": {"draDriver": {}} | spec}


def slice_of(node, *devices):
    return {"metadata": {"name": f"slice-{node}"},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "devices": [{"name": name} for name in devices],
                     "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}}


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,garbage-collector-controller") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        yield plane


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):
    new_node(plane, "node1")
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        yield operator


def status(plane):
    return (plane.get(f"{CLUSTERS}/gpu-cluster") or {}).get("status") or {}


def condition(plane, kind):
    return next((c for c in status(plane).get("conditions", []) if c["type"] == kind), {})


def operand(plane):
    return next((o for o in status(plane).get("operands", []) if o["name"] == "state-dra-driver"), {})


def test_a_gpu_cluster_deploys_the_dra_driver(plane, operator):
    with pytest.raises(Refused, match="must be gpu-cluster"):
        plane.call("POST", CLUSTERS, gpu_cluster("other"))
    plane.call("POST", CLUSTERS, gpu_cluster(
        draDriver={"gpus": {"kubeletPlugin": {"healthcheck": {"enabled": True, "port": 51516}}},
                   "featureGates": {"DynamicMIG": True}}, hostPaths={"driverInstallDir": "/run/nvidia/driver"}))
    made = wait(lambda: plane.get(DRIVER), "the DRA driver's DaemonSet")
    assert made["spec"]["template"]["spec"]["containers"][0]["command"] == ["gpu-kubelet-plugin"]
    assert [owner["kind"] for owner in made["metadata"]["ownerReferences"]] == ["GPUCluster"]
    assert wait(lambda: plane.get(CLASS), "the class")["spec"]["extendedResourceName"] == "nvidia.com/gpu"
    assert plane.get(SLICE_POLICY) and plane.get(SLICE_POLICY.replace("policies/", "policybindings/"))
    assert plane.get(f"{SETS}/nvidia-device-plugin-daemonset") is None
    assert labels(plane, "node1")["nvidia.com/gpu.deploy.dra-driver"] == "true"
    assert "nvidia.com/gpu.deploy.device-plugin" not in labels(plane, "node1")
    wait(lambda: set(status(plane).get("unsupportedFields", [])) == {
        "draDriver.featureGates.DynamicMIG", "draDriver.gpus.kubeletPlugin.healthcheck.enabled",
        "draDriver.gpus.kubeletPlugin.healthcheck.port"}, "the fields without effect")
    assert "draDriver.featureGates.DynamicMIG" in condition(plane, "SpecFollowed")["message"]
    assert status(plane)["state"] == "notReady" and operand(plane)["state"] == "notReady"


def test_what_drifts_is_put_right(plane, operator):
    plane.call("DELETE", CLASS)
    wait(lambda: plane.get(CLASS), "the class again")
    plane.patch(SLICE_POLICY, {"spec": {"failurePolicy": "Ignore"}})
    wait(lambda: plane.get(SLICE_POLICY)["spec"]["failurePolicy"] == "Fail", "the policy as it was")


def test_it_is_ready_when_every_node_offers_a_device(plane, operator):
    # As a kubelet would say it.
    ready = {"type": "Ready", "status": "True"}
    plane.patch("/api/v1/nodes/node1/status", {"status": {"conditions": [ready]}})
    plane.patch("/api/v1/nodes/node1", {"spec": {"taints": None}})
    pods = f"/api/v1/namespaces/{SPACE}/pods"
    [pod] = wait(lambda: plane.get(f"{pods}?labelSelector=app=nvidia-dra-driver-kubelet-plugin")["items"], "the driver's pod")
    plane.patch(f"{pods}/{pod['metadata']['name']}/status", {"status": {"phase": "Running", "conditions": [ready]}})

    def says(reason):
        return operand(plane).get("reason", "") == reason

    wait(lambda: says("NoDevicesOffered"), "the node without devices")
    assert "node1" in operand(plane)["message"]
    plane.call("POST", f"{RESOURCES}/resourceslices", slice_of("node1"))
    plane.call("POST", f"{RESOURCES}/resourceslices", slice_of("node2", "gpu-0"))
    assert wait(lambda: says("NoDevicesOffered"), "a slice without devices")
    plane.call("DELETE", f"{RESOURCES}/resourceslices/slice-node1")
    plane.call("POST", f"{RESOURCES}/resourceslices", slice_of("node1", "gpu-0"))
    wait(lambda: says("") and operand(plane)["state"] == "ready", "the node with a device")


def test_beside_a_cluster_policy_neither_counts(plane, operator):
    plane.call("POST", POLICIES, policy("cluster-policy", driver={"enabled": False}))
    wait(lambda: condition(plane, "Error").get("reason") == "PrerequisiteNotMet", "the GPUCluster to wait")
    assert "ClusterPolicy cluster-policy exists" in condition(plane, "Error")["message"]

    def policys_error():
        found = plane.get(f"{POLICIES}/cluster-policy").get("status", {}).get("conditions", [])
        return next((c for c in found if c["type"] == "Error" and c["reason"] == "ReconcileFailed"), None)

    assert "GPUCluster gpu-cluster exists" in wait(policys_error, "the ClusterPolicy to be refused")["message"]
    assert plane.get(DRIVER) and plane.get(f"{SETS}/nvidia-device-plugin-daemonset") is None
    plane.call("DELETE", f"{POLICIES}/cluster-policy")
    wait(lambda: condition(plane, "Error").get("reason") != "PrerequisiteNotMet", "the GPUCluster to count again")


def test_a_mistake_is_named_and_changes_nothing(plane, operator):
    before = plane.get(DRIVER)["spec"]
    plane.patch(f"{CLUSTERS}/gpu-cluster", {"spec": {"draDriver": {"featureGates": {"Fast": True}}}})
    wait(lambda: "spec.draDriver.featureGates.Fast" in condition(plane, "Error").get("message", ""), "the mistake")
    assert plane.get(DRIVER)["spec"] == before
    plane.patch(f"{CLUSTERS}/gpu-cluster", {"spec": {"draDriver": {"featureGates": {"Fast": None}, "version": "v0.5.0",
                                                                   "repository": "nvcr.io/nvidia", "image": "dra"}}})
    wait(lambda: operand(plane).get("reason") == "InvalidSpec", "NVIDIA's image")
    assert plane.get(DRIVER)["spec"] == before


def test_it_takes_everything_with_it(plane, operator):
    """NVIDIA's operator has left its finalizer."""
    plane.patch(f"{CLUSTERS}/gpu-cluster", {"metadata": {"finalizers": [FINALIZER]}})
    plane.call("DELETE", f"{CLUSTERS}/gpu-cluster")
    wait(lambda: plane.get(f"{CLUSTERS}/gpu-cluster") is None, "the end of the GPUCluster")
    for path in (DRIVER, CLASS, SLICE_POLICY):
        wait(lambda: plane.get(path) is None, f"the end of {path}")  # noqa: B023


def test_an_api_server_without_claims_is_named(build, tmp_path):
    with ControlPlane(tmp_path, "daemonset-controller", runtime_config="resource.k8s.io/v1=false") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        new_node(plane, "node1")
        plane.call("POST", CLUSTERS, gpu_cluster())
        with Operator(plane, build, tmp_path):
            wait(lambda: condition(plane, "Error").get("reason") == "PrerequisiteNotMet", "the refusal")
            version = plane.get("/version")["gitVersion"]
            assert f"this API server ({version}) does not serve resource.k8s.io/v1" in condition(plane, "Error")["message"]
            assert plane.get(DRIVER) is None
