# SPDX-License-Identifier: Apache-2.0
"""The operator beside a real API server: policies are accepted or refused, nodes are labelled, what
drifts is repaired, nothing is written while nothing changes, and an uninstallation leaves nothing.
The servers are the test bed's, or those in $GANTRY_BED_BIN; ours is that of $GANTRY_BUILD (default
build/release).
"""

import os
import pathlib
import signal
import subprocess
import time
import urllib.request

import pytest
from control_plane import ControlPlane, Refused, free_port, wait
from prometheus_client.parser import text_string_to_metric_families

SPACE = "gpu-operator"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
SHORT_FORMS = "/apis/gpu.nvidia.com/v1/gpuclusterpolicies"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/daemonsets"
PLUGIN = f"{SETS}/nvidia-device-plugin-daemonset"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODE_FEATURES = f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{SPACE}/nodefeatures"
MONITORING = f"/apis/monitoring.coreos.com/v1/namespaces/{SPACE}"
CROWD = [f"crowd-{number}" for number in range(40)]  # there at the installation only
PCI = "feature.node.kubernetes.io/pci-10de.present"


class Operator:
    """The process, as its Deployment starts it."""

    def __init__(self, plane: ControlPlane, build: pathlib.Path, folder: pathlib.Path, space: str = SPACE,
                 **variables: str):
        self.plane, self.program, self.log = plane, build / "bin/gantry", folder / "operator.log"
        self.environment = os.environ | {"OPERATOR_NAMESPACE": space, "OPERATOR_IMAGE": "localhost/gantry:1",
                                         "POD_NAME": "the-operator", "KUBECONFIG": str(plane.kubeconfig),
                                         "CUDA_IMAGE": "nvcr.io/nvidia/cuda"} | variables
        self.start()

    def start(self):
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.program, "gpu-operator", "--leader-elect", f"--metrics-bind-address=127.0.0.1:{self.port}",
             "--health-probe-bind-address=0"], env=self.environment, stderr=open(self.log, "ab"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(10)

    def uninstall(self, *flags):
        return subprocess.run([self.program, "uninstall", *flags], env=self.environment, text=True,
                              stderr=subprocess.PIPE, timeout=120, check=False)

    def metrics(self):
        """Its metric families, as a client of Prometheus reads them."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return list(text_string_to_metric_families(answer.read().decode()))

    def metric(self, name: str, /, **labels: str) -> float:
        return next(sample.value for family in self.metrics() for sample in family.samples
                    if sample.name == name and labels.items() <= sample.labels.items())

    def peak_kib(self) -> int:
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmHWM")))


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("plane"), "daemonset-controller,garbage-collector-controller") as plane:
        plane.define_resources()
        plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        yield plane


def policy(name: str, **spec):
    return {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def operator(plane, build, tmp_path_factory):
    for name in ("node1", "node2", *CROWD):
        new_node(plane, name)
    plane.call("POST", POLICIES, policy("cluster-policy", toolkit={"version": "v1.16.1-ubuntu20.04"},
                                        migManager={"gpuClientsConfig": {"name": "clients"}},
                                        driver={"enabled": False}))
    with Operator(plane, build, tmp_path_factory.mktemp("operator")) as operator:
        wait(lambda: plane.get(PLUGIN), "the device plugin's DaemonSet")
        yield operator


def new_node(plane, name):
    plane.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}}})
    plane.call("POST", NODE_FEATURES, {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature",
        "metadata": {"name": name, "labels": {"nfd.node.kubernetes.io/node-name": name},
                     "annotations": {"nfd.node.kubernetes.io/worker.version": "gantry-0"}},
        "spec": {"labels": {PCI: "true"}}})


def labels(plane, node):
    return plane.get(f"/api/v1/nodes/{node}")["metadata"]["labels"]


def status(plane, name="cluster-policy"):
    return plane.get(f"{POLICIES}/{name}").get("status", {})


def settled(plane, quiet=1):
    """Waits until the operator writes nothing for so many seconds; how many writes there were."""
    count, since = len(plane.writes("gpu-operator")), time.monotonic()
    while time.monotonic() - since < quiet:
        time.sleep(0.1)
        now = len(plane.writes("gpu-operator"))
        if now != count:
            count, since = now, time.monotonic()
    return count


@pytest.mark.parametrize(("spec", "named"), [
    ({"mig": {"strategy": "tripel"}}, "spec.mig.strategy"),
    ({"driver": {"version": 5}}, "spec.driver.version"),
    ({"driver": {"verison": "5"}}, "spec.driver.verison"),
])
def test_a_wrong_policy_is_refused_by_name(plane, spec, named):
    with pytest.raises(Refused, match=named):
        plane.call("POST", f"{POLICIES}?dryRun=All&fieldValidation=Strict", policy("wrong", **spec))


def test_labels_come_before_the_objects(plane, operator):
    """Beside the pods of a thousand nodes the API server is slow: the labels were there first."""
    written = plane.writes("gpu-operator")
    first_object = next(i for i, write in enumerate(written) if write.startswith("create "))
    for node in CROWD:
        assert written.index(f"patch nodes/{node}") < first_object
        plane.call("DELETE", f"/api/v1/nodes/{node}")


def test_nodes_with_gpus_are_labelled_and_operands_deployed(plane, operator):
    for node in ("node1", "node2"):
        wait(lambda: labels(plane, node).get("nvidia.com/gpu.deploy.device-plugin") == "true", "labels")
        assert labels(plane, node)["nvidia.com/gpu.present"] == "true"
        assert labels(plane, node)[PCI] == "true"
    for name in ("nvidia-container-toolkit-daemonset", "gpu-feature-discovery", "nvidia-operator-validator",
                 "nvidia-dcgm-exporter"):
        made = wait(lambda: plane.get(f"{SETS}/{name}"), name)
        assert made["metadata"]["ownerReferences"][0]["kind"] == "ClusterPolicy"
    assert plane.get("/apis/node.k8s.io/v1/runtimeclasses/nvidia")["handler"] == "nvidia"
    assert plane.get(f"{RBAC}/clusterroles/nvidia-device-plugin")


def test_status_says_what_is_missing_and_is_never_ready_too_early(plane, operator):
    # Nothing runs on these nodes, so nothing is ever ready.
    told = wait(lambda: status(plane), "a status")
    assert told["state"] == "notReady" and told["namespace"] == SPACE
    conditions = {c["type"]: c for c in told["conditions"]}
    assert conditions["Ready"]["status"] == "False" and conditions["Error"]["reason"] == "OperandNotReady"
    assert "migManager.gpuClientsConfig.name" in told["unsupportedFields"]
    assert "toolkit.version" in conditions["SpecFollowed"]["message"]
    operands = {o["name"]: o for o in told["operands"]}
    assert operands["state-mig-manager"]["image"] == "localhost/gantry:1"
    assert operands["state-dcgm-exporter"]["state"] == "notReady", "it does not run"
    assert operands["state-dcgm-exporter"]["image"] == "localhost/gantry:1"
    assert operands["state-dcgm"]["state"] == "ready" and operands["state-dcgm"]["reason"] == "NotNeeded"
    assert operands["state-device-plugin"]["state"] == "notReady"
    assert operands["state-container-toolkit"]["image"] == "localhost/gantry:1"


def told(plane):
    return [(event["reason"], event.get("count")) for event in plane.get("/api/v1/events")["items"]
            if event["involvedObject"]["kind"] == "ClusterPolicy"]


def test_nothing_changed_nothing_written(plane, operator):
    before = settled(plane, quiet=6)  # messages of the status are written every five seconds
    events = wait(lambda: told(plane), "the policy's events")
    time.sleep(5)
    assert plane.writes("gpu-operator")[before:] == []
    # Nor after a start: what is there is as it should be.
    assert operator.stop() == 0
    operator.start()
    wait(lambda: "reconciling" in operator.log.read_text().rsplit("leader", 1)[-1], "reconciling")
    time.sleep(3)
    assert plane.writes("gpu-operator")[before:] == []
    assert told(plane) == events


def test_what_drifts_is_repaired(plane, operator):
    settled(plane)
    before = plane.get(PLUGIN)["spec"]
    plane.patch(PLUGIN, [
        {"op": "add", "path": "/spec/template/spec/hostNetwork", "value": True},
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "other"},
        {"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "X", "value": "1"}}])
    wait(lambda: plane.get(PLUGIN)["spec"] == before, "the DaemonSet is as before")
    for path in (f"/api/v1/namespaces/{SPACE}/serviceaccounts/nvidia-device-plugin",
                 f"{RBAC}/clusterroles/nvidia-device-plugin", "/apis/node.k8s.io/v1/runtimeclasses/nvidia",
                 f"{SETS}/gpu-feature-discovery"):
        uid = plane.get(path)["metadata"]["uid"]
        plane.call("DELETE", path)
        wait(lambda: (plane.get(path) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid, path)
    plane.patch(f"{RBAC}/clusterrolebindings/nvidia-device-plugin", {"subjects": None})
    wait(lambda: plane.get(f"{RBAC}/clusterrolebindings/nvidia-device-plugin").get("subjects"), "subjects")
    plane.patch("/api/v1/nodes/node1", {"metadata": {"labels": {
        PCI: None, "nvidia.com/gpu.present": None, "nvidia.com/gpu.deploy.device-plugin": None}}})
    wait(lambda: {PCI, "nvidia.com/gpu.present", "nvidia.com/gpu.deploy.device-plugin"} <=
         labels(plane, "node1").keys(), "labels come back")
    # An object that lost our label is found again and taken over.
    plane.patch(PLUGIN, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}})
    wait(lambda: "app.kubernetes.io/managed-by" in plane.get(PLUGIN)["metadata"]["labels"], "our label")
    # One write repairs, and no more follow.
    count = settled(plane)
    time.sleep(2)
    assert len(plane.writes("gpu-operator")) == count


def test_labels_outlive_what_said_them(plane, operator):
    before = labels(plane, "node2")
    plane.call("DELETE", f"{NODE_FEATURES}/node2")
    operator.stop(signal.SIGKILL)
    operator.start()
    settled(plane)
    time.sleep(2)
    assert labels(plane, "node2") == before


def test_a_second_policy_is_ignored_and_says_so(plane, operator):
    plane.call("POST", POLICIES, policy("second", mig={"strategy": "mixed"}))
    wait(lambda: status(plane, "second").get("state") == "ignored", "ignored")
    assert "cluster-policy" in status(plane, "second")["conditions"][1]["message"]
    plane.call("DELETE", f"{POLICIES}/second")


def test_the_short_form_is_laid_over_the_policy(plane, operator):
    path = SHORT_FORMS
    features, cuda = f"{SETS}/gpu-feature-discovery", f"{SETS}/nvidia-cuda-toolkit-daemonset"

    def short(name, **spec):
        return {"apiVersion": "gpu.nvidia.com/v1", "kind": "GPUClusterPolicy", "metadata": {"name": name},
                "spec": {"driver": {"enabled": True, "version": "470.82.01"}} | spec}

    def owners():
        references = (plane.get(features) or {"metadata": {}})["metadata"].get("ownerReferences", [])
        return [reference["kind"] for reference in references]

    def sets():
        return {(each["metadata"]["name"], each["metadata"]["uid"]) for each in plane.get(SETS)["items"]}

    def condition(path, kind):
        told = {c["type"]: c for c in (plane.get(path).get("status") or {}).get("conditions", [])}
        return told.get(kind, {}).get("message", "")

    plane.call("POST", f"{path}?fieldValidation=Strict", short(
        "short", cuda={"enabled": True}, devicePlugin={"enabled": False}, migManager={"enabled": False}))
    for object_path in (f"{path}/short", f"{POLICIES}/cluster-policy"):
        wait(lambda: "spec.cuda.version" in condition(object_path, "Error"), "a field that is missing is named")
    wait(lambda: plane.get(PLUGIN) is None, "another part's mistake keeps no plugin that is switched off")
    plane.patch(f"{path}/short", {"spec": {"cuda": {"version": "11.4"}}})
    copy = wait(lambda: plane.get(cuda), "CUDA's DaemonSet")["spec"]["template"]["spec"]["initContainers"][1]
    assert copy["image"] == "nvcr.io/nvidia/cuda:11.4.3-devel-ubuntu20.04"
    plane.patch(f"{path}/short", {"spec": {"cuda": {"version": None}}})
    wait(lambda: "spec.cuda.version" in condition(f"{path}/short", "Error"), "the mistake is named again")
    assert plane.get(cuda), "what a mistake may still mean stays"
    plane.patch(f"{path}/short", {"spec": {"cuda": {"version": "11.4"}}})
    wait(lambda: "spec.cuda.version" not in condition(f"{path}/short", "Error"), "the mistake is mended")
    wait(lambda: "driver.enabled" in condition(f"{POLICIES}/cluster-policy", "SpecFollowed"), "what is overridden")
    assert {o["name"]: o["state"] for o in status(plane)["operands"]}["state-driver"] == "notReady"
    assert plane.get(f"{path}/short")["status"]["namespace"] == SPACE
    plane.call("POST", path, short("younger", devicePlugin={"enabled": True}))
    wait(lambda: "GPUClusterPolicy short" in condition(f"{path}/younger", "Error"), "the younger one is ignored")
    assert plane.get(PLUGIN) is None
    plane.call("DELETE", f"{path}/younger")

    # Alone it is followed with NVIDIA's defaults. What runs for both goes on: its pods would end with it.
    wait(lambda: owners() == ["ClusterPolicy", "GPUClusterPolicy"], "both own it")
    before = sets()
    asked = plane.get(f"{POLICIES}/cluster-policy")
    plane.call("DELETE", f"{POLICIES}/cluster-policy")
    wait(lambda: owners() == ["GPUClusterPolicy"], "its owner")
    plane.call("POST", POLICIES, {key: asked[key] for key in ("apiVersion", "kind", "spec")} |
               {"metadata": {"name": "cluster-policy"}})
    wait(lambda: owners() == ["ClusterPolicy", "GPUClusterPolicy"], "both own it again")
    assert sets() == before
    plane.call("DELETE", f"{path}/short")
    wait(lambda: plane.get(PLUGIN), "the plugin again")
    wait(lambda: plane.get(cuda) is None, "CUDA's DaemonSet is gone")


def test_a_missing_configmap_is_a_reason(plane, operator):
    def reason():
        return {o["name"]: o for o in status(plane)["operands"]}["state-device-plugin"].get("reason")

    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"devicePlugin": {"config": {"name": "slices"}}}})
    wait(lambda: any(v.get("configMap", {}).get("name") == "slices"
                     for v in plane.get(PLUGIN)["spec"]["template"]["spec"]["volumes"]), "a volume")
    # Not the first reason while there are no pods either; the ConfigMap is watched all the same.
    assert reason() in ("ConfigMapNotFound", "PodsMissing", "DaemonSetNotObserved", "PodsNotAvailable")
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"devicePlugin": None}})


def publish(plane, name, node, said, **annotations):
    """A NodeFeature of one of the node's agents, made or changed."""
    body = {"metadata": {"annotations": annotations}, "spec": {"labels": said}}
    if plane.get(f"{NODE_FEATURES}/{name}"):
        plane.patch(f"{NODE_FEATURES}/{name}", body)
        return
    body["metadata"] |= {"name": name, "labels": {"nfd.node.kubernetes.io/node-name": node}}
    plane.call("POST", NODE_FEATURES, {"apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeature"} | body)


def test_the_state_of_a_mig_layout_is_what_its_manager_publishes(plane, operator):
    manager, state = f"{SETS}/nvidia-mig-manager", "nvidia.com/mig.config.state"
    path = f"{POLICIES}/cluster-policy"
    publish(plane, "nvidia-features-for-node1", "node1", {"nvidia.com/mig.capable": "true"})
    wait(lambda: labels(plane, "node1").get("nvidia.com/mig.config") == "all-disabled", "the default layout")
    assert labels(plane, "node1")["nvidia.com/gpu.deploy.mig-manager"] == "true"
    assert "nvidia.com/mig.config" not in labels(plane, "node2")
    assert plane.get(manager)["spec"]["template"]["spec"]["nodeSelector"] == {"nvidia.com/gpu.deploy.mig-manager": "true"}
    # GPUs that somebody has divided by hand are left to him.
    publish(plane, "nvidia-features-for-node2", "node2", {
        "nvidia.com/mig.capable": "true", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"})
    wait(lambda: labels(plane, "node2").get("nvidia.com/gpu.deploy.mig-manager") == "true", "a manager there too")
    settled(plane)
    assert "nvidia.com/mig.config" not in labels(plane, "node2")

    publish(plane, "nvidia-mig-for-node1", "node1", {state: "failed"}, **{
        "nvidia.com/mig.config-message": "all-1g.10gb: GPU 0: pod default/train"})
    wait(lambda: labels(plane, "node1").get(state) == "failed", "the state")
    assert state not in labels(plane, "node2")
    # NVIDIA's manager writes its own: what ours has said last goes, and does not come back.
    theirs = {"repository": "r", "image": "k8s-mig-manager", "version": "v0.15.0"}
    plane.patch(path, {"spec": {"migManager": theirs}})
    wait(lambda: state not in labels(plane, "node1"), "the state of ours is gone")
    wait(lambda: plane.get(manager)["spec"]["template"]["spec"]["containers"][0]["image"] == "r/k8s-mig-manager:v0.15.0",
         "NVIDIA's manager")
    plane.patch("/api/v1/nodes/node1", {"metadata": {"labels": {state: "pending"}}})
    settled(plane)
    assert labels(plane, "node1")[state] == "pending"
    plane.patch(path, {"spec": {"migManager": dict.fromkeys(theirs)}})
    wait(lambda: labels(plane, "node1").get(state) == "failed", "ours again")
    container = plane.get(manager)["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "localhost/gantry:1" and container["command"] == ["nvidia-mig-manager"]
    # A table that the policy names is the only one.
    variables = {v["name"]: v.get("value") for v in container["env"]}
    assert variables["DEFAULT_CONFIG_FILE"] == "/mig-parted-config/config-default.yaml"
    table = f"/api/v1/namespaces/{SPACE}/configmaps/default-mig-parted-config"
    assert "all-1g.10gb" in plane.get(table)["data"]["config.yaml"]
    plane.patch(path, {"spec": {"migManager": {"config": {"name": "layouts"}}}})
    wait(lambda: plane.get(table) is None, "the default table is gone")
    container = plane.get(manager)["spec"]["template"]["spec"]["containers"][0]
    assert {v["name"]: v.get("value") for v in container["env"]}["CONFIG_FILE"] == "/mig-parted-config/config.yaml"
    plane.patch(path, {"spec": {"migManager": {"config": {"name": None}}}})


def test_an_operand_that_is_switched_off_goes(plane, operator):
    plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"gfd": {"enabled": False}}})
    wait(lambda: plane.get(f"{SETS}/gpu-feature-discovery") is None, "the DaemonSet is gone")
    wait(lambda: plane.get(f"{RBAC}/clusterroles/nvidia-gpu-feature-discovery") is None, "its role is gone")


def prometheus_kind(name: str, plural: str):
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
                     "names": {"kind": name, "plural": plural, "singular": name.lower()},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": anything}}]}}


def test_prometheus_objects_come_and_go_with_their_kinds(plane, operator):
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    kinds = {"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"}
    monitor = f"{MONITORING}/servicemonitors/gpu-operator"
    rule = f"{MONITORING}/prometheusrules/nvidia-gpu-operator-metrics"

    def section(value):
        plane.patch(f"{POLICIES}/cluster-policy", {"spec": {"operator": {"metrics": {"serviceMonitor": value}}}})

    def said():
        return "operator.metrics.serviceMonitor" in next(
            c["message"] for c in status(plane)["conditions"] if c["type"] == "SpecFollowed")

    section({"enabled": True, "interval": "15s", "additionalLabels": {"release": "prometheus"}})
    wait(said, "what can't be is said")
    for plural, name in kinds.items():
        plane.call("POST", definitions, prometheus_kind(name, plural))
    made = wait(lambda: plane.get(monitor), "a ServiceMonitor")
    assert made["metadata"]["labels"]["release"] == "prometheus"
    assert made["spec"]["endpoints"] == [{"port": "gpu-operator-metrics", "path": "/metrics", "interval": "15s"}]
    wait(lambda: plane.get(rule), "a PrometheusRule")
    wait(lambda: not said(), "nothing is missing any more")
    # They are kept as they are made, and not written again and again.
    plane.patch(monitor, {"spec": {"endpoints": []}})
    wait(lambda: plane.get(monitor)["spec"] == made["spec"], "the ServiceMonitor is as before")
    count = settled(plane)
    time.sleep(2)
    assert len(plane.writes("gpu-operator")) == count
    section({"enabled": False})
    wait(lambda: plane.get(monitor) is None, "the ServiceMonitor is gone")
    assert plane.get(rule), "what is scraped in another way is warned of too"
    # A kind that goes takes its objects along, and is no failure.
    section({"enabled": True})
    wait(lambda: plane.get(monitor) and plane.get(rule), "both are back")
    for plural in kinds:
        plane.call("DELETE", f"{definitions}/{plural}.monitoring.coreos.com")
    wait(said, "what can't be is said")
    wait(lambda: status(plane)["conditions"][1]["reason"] != "ReconcileFailed", "no failure")
    # For the uninstallation.
    for plural, name in kinds.items():
        wait(lambda: plane.get(f"{definitions}/{plural}.monitoring.coreos.com") is None, "the kind is gone")
        plane.call("POST", definitions, prometheus_kind(name, plural))
    wait(lambda: plane.get(monitor) and plane.get(rule), "both are back")


def test_metrics_are_those_of_any_controller(plane, operator):
    names = [family.name for family in operator.metrics()]
    assert len(names) == len(set(names)), "a name has two headings"
    assert operator.metric("leader_election_master_status", name="53822513.nvidia.com") == 1
    assert operator.metric("rest_client_requests_total", method="PATCH", code="200") > 0
    # The watches, which go on, are counted too.
    assert operator.metric("rest_client_requests_total", method="GET", code="200") > 5
    done = operator.metric("controller_runtime_reconcile_total", controller="clusterpolicy", result="success")
    assert 0 < done <= operator.metric("controller_runtime_reconcile_time_seconds_count", controller="clusterpolicy")
    assert operator.metric("process_resident_memory_bytes") <= operator.peak_kib() * 1024
    assert operator.metric("process_open_fds") <= operator.metric("process_max_fds")


def test_memory_is_bounded(operator):
    assert operator.peak_kib() <= 16 * 1024


def test_uninstall_leaves_nothing(plane, operator):
    operator.stop()
    plane.call("POST", SHORT_FORMS, {"apiVersion": "gpu.nvidia.com/v1", "kind": "GPUClusterPolicy",
                                     "metadata": {"name": "short"}})
    done = operator.uninstall("--timeout=60")
    assert done.returncode == 0, done.stderr
    # The Job's log goes with the Job; the nodes without a kubelet are still named.
    left = {event["involvedObject"]["name"]: event["message"] for event in
            plane.get("/api/v1/namespaces/default/events")["items"] if event["reason"] == "NodeNotRestored"}
    assert left.keys() == {"node1", "node2"}
    assert "is not Ready and is left as it is" in left["node1"] and "gantry host-cleanup" in left["node1"]
    # Somebody has made them by hand, they go with their definitions only.
    for policies in (POLICIES, SHORT_FORMS):
        assert len(plane.get(policies)["items"]) == 1
    plane.patch(f"{POLICIES}/cluster-policy", {"metadata": {"labels": {
        "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/component": "gpu-operator"}}})
    assert operator.uninstall("--timeout=60").returncode == 0
    assert plane.get(POLICIES)["items"] == []
    done = operator.uninstall("--timeout=60", "--crds")
    assert done.returncode == 0, done.stderr
    for node in ("node1", "node2"):
        assert not [key for key in labels(plane, node) if "nvidia.com" in key or "feature.node" in key]
        assert "annotations" not in plane.get(f"/api/v1/nodes/{node}")["metadata"]
    ours = "?labelSelector=app.kubernetes.io/managed-by=gpu-operator"
    for path in (SETS, f"/api/v1/namespaces/{SPACE}/serviceaccounts", f"{RBAC}/clusterroles",
                 f"{RBAC}/clusterrolebindings", "/apis/node.k8s.io/v1/runtimeclasses",
                 f"{MONITORING}/servicemonitors", f"{MONITORING}/prometheusrules",
                 "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
        assert plane.get(path + ours)["items"] == []
    assert plane.get(f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/53822513.nvidia.com") is None
    # Once more, with nothing left to do.
    assert operator.uninstall("--timeout=30", "--crds").returncode == 0
