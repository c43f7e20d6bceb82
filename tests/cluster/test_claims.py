"""GPUs are given out by resource claims: a GPUCluster instead of a ClusterPolicy, on a cluster without Gantry."""

import kubernetes
import pytest
import snapshot
from bed import NAMESPACE, TEST_IMAGE, wait_for

DRIVER = "gpu.nvidia.com"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:nvidia-dra-driver-kubeletplugin"


def cluster_resources(bed, plural, group="resource.k8s.io", version="v1"):
    return bed.custom.list_cluster_custom_object(group, version, plural)["items"]


def devices(bed, node):
    """UUIDs of the devices that a node offers, by name."""
    return {one["name"]: one["attributes"]["uuid"]["string"] for item in cluster_resources(bed, "resourceslices")
            if item["spec"]["driver"] == DRIVER and item["spec"]["nodeName"] == node
            for one in item["spec"].get("devices", [])}


def gpu_cluster(bed):
    return bed.custom.get_cluster_custom_object("nvidia.com", "v1alpha1", "gpuclusters", "gpu-cluster")


def is_ready(bed):
    try:
        return gpu_cluster(bed).get("status", {}).get("state") == "ready"
    except kubernetes.client.ApiException:
        return False


def claim_of(bed, pod):
    """The claim that was made for a pod of the template."""
    status = bed.core.read_namespaced_pod(pod, "default").status.to_dict()
    name = status["resource_claim_statuses"][0]["resource_claim_name"]
    return bed.custom.get_namespaced_custom_object("resource.k8s.io", "v1", "default", "resourceclaims", name)


def claims(bed):
    return bed.custom.list_namespaced_custom_object("resource.k8s.io", "v1", "default", "resourceclaims")["items"]


def pod_with_claim(name, node=None):
    body = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "containers": [{"name": "main", "image": TEST_IMAGE, "imagePullPolicy": "Never",
                            "command": ["sleep", "3600"], "resources": {"claims": [{"name": "gpu"}]}}]}
    if node:
        body["nodeSelector"] = {"kubernetes.io/hostname": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": body}


TEMPLATE = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one-gpu", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}}}


@pytest.fixture(scope="module")
def cluster(bare, before):
    """The cluster with a GPUCluster that is ready, and what it looked like before. A node that joined late was away
    while an earlier story uninstalled, and has files of that installation."""
    names = sorted(bare.nodes())
    for name in names:
        # After a device plugin the kubelet lists its GPUs for five minutes, and no DRA driver offers them.
        if (bare.core.read_node(name).status.capacity or {}).get("nvidia.com/gpu", "0") != "0":
            bare.do("restart", "kubelet", name)
    bare.before_claims = snapshot.take_of(bare, sorted(before["files"]))
    bare.install("--set", "gpuCluster.deployCR=true,clusterPolicy.deployCR=false")
    wait_for("the GPUCluster to be ready", lambda: is_ready(bare), 90)
    bare.apply(TEMPLATE)
    return bare


def test_every_node_offers_its_gpus_to_claims(cluster):
    nodes = sorted(cluster.nodes())
    for name in nodes:
        gpus = cluster.gpus(name)
        assert devices(cluster, name) == {f"gpu-{minor}": gpu["uuid"] for minor, gpu in enumerate(gpus)}
        assert cluster.allocatable(name) == 0
        labels = cluster.labels(name)
        assert labels["nvidia.com/gpu.deploy.dra-driver"] == "true"
        assert "nvidia.com/gpu.deploy.device-plugin" not in labels
    assert {"gpu.nvidia.com", "mig.nvidia.com"} <= {c["metadata"]["name"] for c in cluster_resources(cluster, "deviceclasses")}
    conditions = {c["type"]: c for c in gpu_cluster(cluster)["status"]["conditions"]}
    assert conditions["Ready"]["reason"] == "Reconciled" and "unsupportedFields" not in gpu_cluster(cluster)["status"], conditions


def test_a_pod_sees_exactly_the_gpu_of_its_claim(cluster):
    cluster.apply(pod_with_claim("one"))
    cluster.wait_phase("one", "Running", 60)
    [result] = claim_of(cluster, "one")["status"]["allocation"]["devices"]["results"]
    listed = cluster.in_pod("one", "nvidia-smi", "-L")
    assert listed.count("UUID: GPU-") == 1, listed
    assert devices(cluster, result["pool"])[result["device"]] in listed
    cluster.delete_pods("one")


def test_a_claim_frees_its_gpu_for_the_next(cluster):
    node = sorted(cluster.nodes())[0]
    names = [f"claimed-{number}" for number in range(8)]
    cluster.apply(*[pod_with_claim(name, node=node) for name in names])
    for name in names:
        cluster.wait_phase(name, "Running", 90)
    held = {claim_of(cluster, name)["status"]["allocation"]["devices"]["results"][0]["device"] for name in names}
    assert held == {f"gpu-{minor}" for minor in range(8)}
    cluster.apply(pod_with_claim("next", node=node))
    wait_for("the scheduler's word on it", lambda: any(
        c.type == "PodScheduled" and c.status == "False"
        for c in cluster.core.read_namespaced_pod("next", "default").status.conditions or []))
    freed = claim_of(cluster, names[3])["status"]["allocation"]["devices"]["results"][0]["device"]
    cluster.delete_pods(names[3])
    cluster.wait_phase("next", "Running", 60)
    assert cluster.in_pod("next", "nvidia-smi", "-L").count("UUID: GPU-") == 1
    assert claim_of(cluster, "next")["status"]["allocation"]["devices"]["results"][0]["device"] == freed
    cluster.delete_pods("next", *names)
    wait_for("the claims to be gone", lambda: not claims(cluster))
    document = f"ls /var/run/cdi | grep -c {DRIVER}-claim_ || true"
    assert cluster.exec(node, "sh", "-c", document).strip() == "0"


def test_a_resource_of_old_is_a_claim(cluster):
    """nvidia.com/gpu: 1, as manifests for a device plugin say."""
    cluster.apply(cluster.gpu_pod("old", 1, "nvidia-smi -L"))
    cluster.wait_phase("old", "Succeeded", 60)
    assert cluster.kubectl("logs", "old").count("UUID: GPU-") == 1
    cluster.delete_pods("old")


def test_a_driver_writes_only_its_own_nodes_slices(cluster):
    one, other = sorted(cluster.nodes())[:2]
    mine = next(item for item in cluster_resources(cluster, "resourceslices") if item["spec"]["nodeName"] == one)
    attempt = ["delete", "resourceslice", mine["metadata"]["name"], "--wait=false", f"--as={ACCOUNT}"]
    extra = "--as-user-extra=authentication.kubernetes.io/node-name="
    refused = cluster.refused("kubectl", *attempt, extra + other)
    assert f"the DRA driver of node {other} writes only its own slices, not those of node {one}" in refused
    assert "names no node" in cluster.refused("kubectl", *attempt)


def test_beside_a_cluster_policy_neither_counts(cluster):
    cluster.apply({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
                   "spec": {"driver": {"enabled": False}}})
    told = wait_for("the GPUCluster to wait", lambda: next(
        (c for c in gpu_cluster(cluster)["status"]["conditions"] if c["reason"] == "PrerequisiteNotMet"), None))
    assert "ClusterPolicy cluster-policy exists" in told["message"]
    wait_for("the ClusterPolicy's status", lambda: "GPUCluster gpu-cluster exists" in str(cluster.policy().get("status")))
    assert not cluster.policy_ready()
    assert len(devices(cluster, sorted(cluster.nodes())[0])) == 8
    cluster.kubectl("delete", "clusterpolicy", "cluster-policy")
    wait_for("the GPUCluster to be ready again", lambda: is_ready(cluster))


def test_an_uninstallation_leaves_no_trace_of_claims(cluster):
    cluster.kubectl("delete", "resourceclaimtemplate", "one-gpu")
    before = cluster.before_claims
    cluster.helm("uninstall", "gpu-operator", "-n", NAMESPACE, "--wait", "--timeout", "300s")
    cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")
    assert not [c for c in cluster_resources(cluster, "deviceclasses") if "nvidia" in c["metadata"]["name"]]
    for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        assert not [p for p in cluster_resources(cluster, plural, "admissionregistration.k8s.io")
                    if "nvidia" in p["metadata"]["name"]]
    # The kubelet removes a driver's slices half a minute after it has gone.
    wait_for("the slices to be gone", lambda: not cluster_resources(cluster, "resourceslices"), 60)
    after = snapshot.take_of(cluster, sorted(before["files"]))
    for name in before["files"]:
        assert after["files"][name] == before["files"][name], sorted(set(after["files"][name]) ^ set(before["files"][name]))
        assert cluster.exec(name, "sh", "-c", f"ls -d /var/lib/kubelet/plugins/{DRIVER} || true").strip() == ""
        assert not [label for label in after["labels"][name] if "nvidia.com/gpu.deploy" in label]
    assert after["cluster"] == before["cluster"] and after["crds"] == before["crds"]
