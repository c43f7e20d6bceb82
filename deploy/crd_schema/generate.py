#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes deploy/chart/crds/*.yaml, and definition-fields.json with the names of their fields, from the tables below; with
--check tells whether they are up to date.

A CustomResourceDefinition of 400 fields is not written by hand: blocks that many operands share (image, env, resources,
probes) are here once. Field names, types, defaults and enums are those of NVIDIA's ClusterPolicy, so that its manifests
are accepted unchanged. Nothing inside spec is required: a manifest may contain only its changes.
"""
import json
import pathlib
import re
import sys

CRDS = pathlib.Path(__file__).resolve().parent.parent / "chart" / "crds"
FIELDS = pathlib.Path(__file__).resolve().parent / "definition-fields.json"
OURS = {"app.kubernetes.io/managed-by": "gpu-operator"}


def text(description=None, **more):
    return schema("string", description, **more)


def flag(description=None, **more):
    return schema("boolean", description, **more)


def number(description=None, **more):
    return schema("integer", description, **more)


def schema(kind, description=None, **more):
    result = {"type": kind}
    if description:
        result["description"] = description
    result.update({key: value for key, value in more.items() if value is not None})
    return result


def block(properties, description=None, required=None, **more):
    result = schema("object", description, **more)
    if required:
        result["required"] = required
    result["properties"] = properties
    return result


def array(items, description=None, **more):
    return schema("array", description, items=items, **more)


def text_map(description=None):
    return schema("object", description, additionalProperties=text())


# The quantity and duration forms of Kubernetes and Prometheus.
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
DURATION = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"


def quantities(description):
    return schema("object", description, additionalProperties={
        "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY, "x-kubernetes-int-or-string": True})


IMAGE = {
    "repository": text("Registry and path before the image's name."),
    "image": text("Name of the image; without repository and version, a full reference.", pattern=r"[a-zA-Z0-9\-]+"),
    "version": text("Tag, or a digest that begins with sha256:."),
    "imagePullPolicy": text(),
    "imagePullSecrets": array(text()),
}
ENV = {"env": array(block({"name": text(), "value": text()}, required=["name"]),
                    "Environment variables, set after the operator's own.")}
DRIVER_MANAGER = IMAGE | ENV
ARGS = {"args": array(text())}
NETWORK = {"hostNetwork": flag()}
RESOURCES = {"resources": block({"limits": quantities(None), "requests": quantities(None)})}
OPERAND = IMAGE | ARGS | ENV | NETWORK | RESOURCES


def enabled(description=None):
    return {"enabled": flag(description)}


def named(description=None):
    return block({"name": text()}, description)


def probe():
    positive = {"format": "int32", "minimum": 1}
    return block({"initialDelaySeconds": number(format="int32"), "timeoutSeconds": number(**positive),
                  "periodSeconds": number(**positive), "successThreshold": number(**positive),
                  "failureThreshold": number(**positive)})


ACTIONS = ["replace", "keep", "drop", "hashmod", "labelmap", "labeldrop", "labelkeep", "lowercase", "uppercase",
           "keepequal", "dropequal"]
CAMEL_ACTIONS = {"hashmod": "HashMod", "labelmap": "LabelMap", "labeldrop": "LabelDrop", "labelkeep": "LabelKeep",
                 "keepequal": "KeepEqual", "dropequal": "DropEqual"}


def service_monitor():
    relabel = block({
        "sourceLabels": array(text()), "separator": text(), "targetLabel": text(), "regex": text(),
        "modulus": number(format="int64", minimum=0), "replacement": text(),
        "action": text(default="replace",
                       enum=[form for a in ACTIONS for form in (a, CAMEL_ACTIONS.get(a, a.capitalize()))]),
    })
    return block(enabled() | {
        "interval": text(pattern=DURATION), "scrapeTimeout": text(pattern=DURATION), "honorLabels": flag(),
        "additionalLabels": text_map(), "relabelings": array(relabel)})


def pod_security_context():
    profile = block({"type": text(), "localhostProfile": text()}, required=["type"])
    atomic = {"x-kubernetes-list-type": "atomic"}
    return block({
        "appArmorProfile": profile, "seccompProfile": profile,
        "fsGroup": number(format="int64"), "fsGroupChangePolicy": text(),
        "runAsGroup": number(format="int64"), "runAsNonRoot": flag(), "runAsUser": number(format="int64"),
        "seLinuxChangePolicy": text(),
        "seLinuxOptions": block({"level": text(), "role": text(), "type": text(), "user": text()}),
        "supplementalGroups": array(number(format="int64"), **atomic), "supplementalGroupsPolicy": text(),
        "sysctls": array(block({"name": text(), "value": text()}, required=["name", "value"]), **atomic),
        "windowsOptions": block({"gmsaCredentialSpec": text(), "gmsaCredentialSpecName": text(), "hostProcess": flag(),
                                 "runAsUserName": text()}),
    })


def toleration():
    return block({"key": text(), "operator": text(), "value": text(), "effect": text(),
                  "tolerationSeconds": number(format="int64")})


def upgrade_policy(automatic):
    seconds = {"minimum": 0}
    no = {"default": False}
    deletion = {"force": flag(**no), "deleteEmptyDir": flag(**no), "timeoutSeconds": number(default=300, **seconds)}
    return block({
        "autoUpgrade": flag(default=automatic),
        "maxParallelUpgrades": number("0: no limit.", default=1, **seconds),
        "maxUnavailable": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": "25%",
                           "x-kubernetes-int-or-string": True},
        "waitForCompletion": block({"podSelector": text(), "timeoutSeconds": number(default=0, **seconds)}),
        "podDeletion": block(deletion),
        "drain": block(deletion | {"enable": flag(**no), "podSelector": text()}),
    })


def daemon_sets():
    return block({
        "labels": text_map("Labels of every DaemonSet and its pods."),
        "annotations": text_map("Annotations of every DaemonSet and its pods."),
        "tolerations": array(toleration(), "Tolerations of every operand; nvidia.com/gpu:NoSchedule when empty."),
        "priorityClassName": text(),
        "podSecurityContext": pod_security_context(),
        "updateStrategy": text(default="RollingUpdate", enum=["RollingUpdate", "OnDelete"]),
        "rollingUpdate": block({"maxUnavailable": text("A number of nodes or a percentage.")}),
    })


def dcgm():
    return block(OPERAND | enabled() | {"hostPort": number("Accepted and ignored.", format="int32")})


def dcgm_exporter():
    return block(OPERAND | enabled() | {
        "annotations": text_map(), "config": named(), "enablePodLabels": flag(), "enablePodUID": flag(),
        "hostPID": flag(), "hpcJobMapping": block(enabled() | {"directory": text()}),
        "podLabelAllowlistRegex": array(text()),
        "service": block({"type": text(), "internalTrafficPolicy": text()}), "serviceMonitor": service_monitor(),
    })


def mig_manager():
    return block(OPERAND | enabled() | {
        "config": block({"name": text(), "default": text(default="all-disabled", enum=["all-disabled", ""])}),
        "gpuClientsConfig": named(),
        "gpuHolders": block(
            {"action": text("fail, unless it is written.", enum=["fail", "wait", "evict", "delete"]),
             "timeoutSeconds": number("300, unless it is written; 0: no limit.", minimum=0),
             "force": flag("Also pods without a controller."),
             "deleteEmptyDir": flag("Also pods whose emptyDir volumes are lost.")},
            "What happens to pods that hold GPUs whose MIG layout is to change."),
    })


def cluster_policy_spec():
    no = {"default": False}
    driver_manager = block(DRIVER_MANAGER)
    return block({
        "operator": block({
            "defaultRuntime": text("Accepted and ignored: the runtime is detected from the nodes."),
            "runtimeClass": text("Name of the main RuntimeClass.", default="nvidia"),
            "initContainer": block(IMAGE, "Accepted and ignored."),
            "labels": text_map(), "annotations": text_map(), "use_ocp_driver_toolkit": flag(),
            "metrics": block({"serviceMonitor": service_monitor()}),
        }),
        "daemonsets": daemon_sets(),
        "hostPaths": block({"rootFS": text(), "driverInstallDir": text(),
                            "kubeletRootDir": text(default="/var/lib/kubelet")}),
        "cdi": block({"enabled": flag("Containers get devices by CDI.", default=True),
                      "default": flag("Accepted and ignored.", **no), "nriPluginEnabled": flag(**no)}),
        "mig": block({"strategy": text("How MIG devices are offered as resources.", enum=["none", "single", "mixed"])}),
        "driver": block(OPERAND | enabled("false: the nodes have their own driver.") | {
            "startupProbe": probe(), "livenessProbe": probe(), "readinessProbe": probe(),
            "kernelModuleType": text(default="auto", enum=["auto", "open", "proprietary"]),
            "useNvidiaDriverCRD": flag(), "usePrecompiled": flag(), "useOpenKernelModules": flag("Accepted and ignored."),
            "rdma": block(enabled() | {"useHostMofed": flag()}),
            "manager": driver_manager,
            "certConfig": named(), "kernelModuleConfig": named(), "repoConfig": block({"configMapName": text()}),
            "licensingConfig": block({"configMapName": text(), "secretName": text(), "nlsEnabled": flag()}),
            "virtualTopology": block({"config": text()}), "secretEnv": text(),
            "upgradePolicy": upgrade_policy(automatic=False),
        }),
        "toolkit": block(OPERAND | enabled() | {"installDir": text(default="/usr/local/nvidia")}),
        "devicePlugin": block(OPERAND | enabled() | {
            "config": block({"name": text("ConfigMap in the operator's namespace, one configuration a key."),
                             "default": text("Key for nodes without the label nvidia.com/device-plugin.config.")}),
            "mps": block({"root": text(default="/run/nvidia/mps")}),
        }),
        "gfd": block(OPERAND | enabled()),
        "validator": block(OPERAND | {stage: block(ENV) for stage in
                                      ["cuda", "driver", "plugin", "toolkit", "vfioPCI", "vgpuDevices", "vgpuManager"]}),
        "dcgm": dcgm(),
        "dcgmExporter": dcgm_exporter(),
        "migManager": mig_manager(),
        "nodeStatusExporter": block(OPERAND | enabled()),
        "gdrcopy": block(IMAGE | ARGS | ENV | enabled()),
        "gds": block(IMAGE | ARGS | ENV | enabled()),
        "psa": block(enabled()), "psp": block(enabled(), "Accepted and ignored."),
        "sandboxWorkloads": block(enabled() | {
            "defaultWorkload": text(default="container", enum=["container", "vm-passthrough", "vm-vgpu"]),
            "mode": text(default="kubevirt", enum=["kubevirt", "kata"])}),
        "vgpuManager": block(OPERAND | enabled() | {"driverManager": driver_manager, "kernelModuleConfig": named()}),
        "vgpuDeviceManager": block(OPERAND | enabled() | {
            "config": block({"name": text(), "default": text(default="default")})}),
        "vfioManager": block(OPERAND | enabled() | {"driverManager": driver_manager}),
        "sandboxDevicePlugin": block(OPERAND | enabled()),
        "kataSandboxDevicePlugin": block(OPERAND | enabled()),
        "kataManager": block(OPERAND | enabled() | {"config": block({
            "artifactsDir": text(default="/opt/nvidia-gpu-operator/artifacts/runtimeclasses"),
            "runtimeClasses": array(block({
                "name": text(), "nodeSelector": text_map(),
                "artifacts": block({"url": text(), "pullSecret": text()}, required=["url"])},
                required=["name", "artifacts"]))})}, "Accepted and ignored."),
        "ccManager": block(OPERAND | enabled() | {"defaultMode": text(enum=["on", "off", "devtools"])}),
    })


def conditions():
    label = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    return array(block({
        "type": text(maxLength=316, pattern=f"^{label}(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"),
        "status": text(enum=["True", "False", "Unknown"]),
        "reason": text(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        "message": text(maxLength=32768),
        "lastTransitionTime": text(format="date-time"),
        "observedGeneration": number(format="int64", minimum=0),
    }, required=["lastTransitionTime", "message", "reason", "status", "type"]))


def cluster_policy_status(*states):
    return block({
        "state": text(enum=list(states)),
        "namespace": text("Namespace of the operator."),
        "conditions": conditions(),
        "operands": array(block({
            "name": text("State of the operand, in the order of deployment."),
            "state": text(enum=["ready", "notReady", "disabled", "unsupported"]),
            "reason": text(), "message": text(), "image": text(),
        }, required=["name", "state"]), "One entry for each operand that is enabled or deployed."),
        "driverUpgrades": block({
            "total": number("Nodes with a driver's pod."), "done": number(), "inProgress": number(), "failed": number(),
            "pending": number("Nodes waiting for their turn."),
            "nodes": array(block({
                "name": text(), "state": text("Value of the node's label nvidia.com/gpu-driver-upgrade-state."),
                "since": text(format="date-time"), "reason": text("Why the node is still in this state."), "next": text(),
                "deadline": text("When the step ends or fails automatically.", format="date-time"),
            }, required=["name", "state"]), "Unfinished nodes, failed ones first; at most a hundred."),
        }, "Only while the operator upgrades drivers."),
        "unsupportedFields": array(text(), "Known fields of spec that are set and have no effect."),
        "valuesNotKnown": array(text(), "Unknown values of the chart, which it leaves out."),
        "valuesNotFollowed": array(text(), "Values of the chart without effect."),
    }, required=["state"])


def cluster_policy():
    return definition("nvidia.com", "v1", "ClusterPolicy", "clusterpolicies", "Cluster",
                      {"spec": cluster_policy_spec(), "status": cluster_policy_status("ignored", "ready", "notReady")},
                      columns=[("Status", "string", ".status.state"), ("Age", "date", ".metadata.creationTimestamp")],
                      description="Settings of the GPU operator for a cluster. The oldest one counts.", labels=OURS)


def node_affinity():
    atomic = {"x-kubernetes-list-type": "atomic"}
    expressions = array(block({"key": text(), "operator": text(), "values": array(text(), **atomic)},
                              required=["key", "operator"]), **atomic)
    term = block({"matchExpressions": expressions, "matchFields": expressions}, **{"x-kubernetes-map-type": "atomic"})
    return block({
        "preferredDuringSchedulingIgnoredDuringExecution": array(
            block({"preference": term, "weight": number(format="int32")}, required=["preference", "weight"]), **atomic),
        "requiredDuringSchedulingIgnoredDuringExecution": block(
            {"nodeSelectorTerms": array(term, **atomic)}, required=["nodeSelectorTerms"],
            **{"x-kubernetes-map-type": "atomic"}),
    }, "Accepted and ignored: nodeSelector chooses the nodes.")


def nvidia_driver_spec():
    fixed = {"x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "this field can't be changed"}]}
    module = block(IMAGE | ARGS | ENV | enabled())
    spec = block(OPERAND | {
        "default": flag("Selects the GPU nodes that no other NVIDIADriver selects.", default=False),
        "driverType": text(default="gpu", enum=["gpu", "vgpu", "vgpu-host-manager"], **fixed),
        "image": text("Name of the image; without repository and version, a full reference.",
                      default="nvcr.io/nvidia/driver"),
        "nodeSelector": text_map("Labels of the nodes that get this driver; none: every GPU node."),
        "nodeAffinity": node_affinity(),
        "labels": text_map("Labels of the DaemonSets and their pods, except app and app.kubernetes.io/."),
        "annotations": text_map("Annotations of the DaemonSets and their pods."),
        "tolerations": array(toleration(), "In addition to nvidia.com/gpu:NoSchedule."),
        "priorityClassName": text(), "podSecurityContext": pod_security_context(),
        "startupProbe": probe(), "livenessProbe": probe(), "readinessProbe": probe(),
        "kernelModuleType": text(default="auto", enum=["auto", "open", "proprietary"]),
        "usePrecompiled": flag(**fixed), "useOpenKernelModules": flag("Accepted and ignored."),
        "rdma": block(enabled() | {"useHostMofed": flag()}), "gds": module, "gdrcopy": module,
        "manager": block(DRIVER_MANAGER),
        "certConfig": named(), "kernelModuleConfig": named(), "repoConfig": named(), "virtualTopologyConfig": named(),
        "licensingConfig": block({"name": text(), "secretName": text(), "nlsEnabled": flag()}), "secretEnv": text(),
        "upgradePolicy": upgrade_policy(automatic=True),
    })
    spec["x-kubernetes-validations"] = [{
        "rule": "has(self.default) && self.default ? !has(self.nodeSelector) || size(self.nodeSelector) == 0 : true",
        "message": "default NVIDIADriver must not use nodeSelector"}]
    return spec


def nvidia_driver():
    status = block({"state": text(enum=["ignored", "ready", "notReady", "disabled"]),
                    "namespace": text("Namespace of the operator."), "conditions": conditions()}, required=["state"])
    return definition("nvidia.com", "v1alpha1", "NVIDIADriver", "nvidiadrivers", "Cluster",
                      {"spec": nvidia_driver_spec(), "status": status},
                      columns=[("Status", "string", ".status.state"), ("Default", "boolean", ".spec.default"),
                               ("Age", "date", ".metadata.creationTimestamp")],
                      description="A driver for some of the nodes. Used if driver.useNvidiaDriverCRD of the ClusterPolicy is true.",
                      labels=OURS, short_names=["nvd", "nvdriver", "nvdrivers"])


def gpu_cluster_spec():
    healthcheck = block({"enabled": flag(default=True), "port": number(format="int32", minimum=1, maximum=65535)})
    plugin = block(ENV | RESOURCES | {"healthcheck": healthcheck})
    dra_driver = block(IMAGE | {
        "featureGates": schema("object", additionalProperties=flag()), "gpus": block({"kubeletPlugin": plugin}),
        "computeDomains": block({"enabled": flag(default=True), "controller": block(ENV | RESOURCES),
                                 "kubeletPlugin": plugin})})
    # NVIDIA's GPUCluster has no gfd and no migManager; they are off by default.
    return block({"daemonsets": daemon_sets(), "dcgm": dcgm(), "dcgmExporter": dcgm_exporter(), "draDriver": dra_driver,
                  "hostPaths": block({"driverInstallDir": text(), "kubeletRootDir": text(default="/var/lib/kubelet")}),
                  "gfd": block(OPERAND | enabled("GPU feature discovery's labels of nodes.")),
                  "migManager": mig_manager()})


def gpu_cluster():
    return definition("nvidia.com", "v1alpha1", "GPUCluster", "gpuclusters", "Cluster",
                      {"spec": gpu_cluster_spec(), "status": cluster_policy_status("ready", "notReady", "disabled")},
                      columns=[("Status", "string", ".status.state"), ("Age", "date", ".metadata.creationTimestamp")],
                      description="GPUs by resource claims (dynamic resource allocation), instead of a ClusterPolicy.",
                      labels=OURS, short_names=["gc"],
                      rules=[{"rule": "self.metadata.name == 'gpu-cluster'", "message": "metadata.name must be gpu-cluster"}])


def gpu_cluster_policy():
    def switch(description):
        return block(enabled() | {"version": text()}, description)

    version = text("Version of CUDA, as 12.4; or the tag of an image that begins with one.")
    volume = block({"hostPath": block({"path": text()}, required=["path"]),
                    "persistentVolumeClaim": block({"claimName": text()}, required=["claimName"])},
                   "Source of CUDA instead of an image: a folder that contains usr/local/cuda-12.4 or cuda-12.4, or is cuda-12.4.",
                   maxProperties=1)
    cuda = block(enabled() | IMAGE | {"version": version, "volume": volume} | RESOURCES,
                 "CUDA toolkit on the nodes, for containers with GPUs. CUDA is copied from the image.")
    spec = block({"driver": switch("Driver of the nodes."), "cuda": cuda,
                  "devicePlugin": switch("GPUs as resources of the nodes."),
                  "migManager": switch("Partitions of MIG capable GPUs.")})
    status = block({"state": text(enum=["ignored", "ready", "notReady"]),
                    "namespace": text("Namespace of the operator."), "conditions": conditions()})
    return definition("gpu.nvidia.com", "v1", "GPUClusterPolicy", "gpuclusterpolicies", "Cluster",
                      {"spec": spec, "status": status},
                      columns=[("Status", "string", ".status.state"), ("Age", "date", ".metadata.creationTimestamp")],
                      description="A short form of ClusterPolicy, which overrides its fields. The oldest one counts.", labels=OURS)


def device():
    spec = block({"node": text(), "index": number(format="int32", minimum=0), "uuid": text(), "product": text(),
                  "memory": number("MiB.", format="int64", minimum=0), "driverVersion": text(), "cudaVersion": text(),
                  "pciBusID": text(), "computeCapability": text(), "migCapable": flag()})
    return definition("gpu.nvidia.com", "v1", "Device", "devices", "Cluster",
                      {"spec": spec},
                      columns=[("Node", "string", ".spec.node"), ("Product", "string", ".spec.product"),
                               ("Age", "date", ".metadata.creationTimestamp")],
                      description="One GPU of a node, written by GPU feature discovery.", labels=OURS)


def node_feature():
    flags = block({"elements": schema("object", additionalProperties=schema("object"))}, required=["elements"])
    attributes = block({"elements": text_map()}, required=["elements"])
    instances = block({"elements": array(block({"attributes": text_map()}, required=["attributes"]))}, required=["elements"])

    def by_name(value):
        return schema("object", additionalProperties=value)

    spec = block({
        "features": block({"flags": by_name(flags), "attributes": by_name(attributes), "instances": by_name(instances)}),
        "labels": text_map("Labels for the node."),
    })
    return definition("nfd.k8s-sigs.io", "v1alpha1", "NodeFeature", "nodefeatures", "Namespaced", {"spec": spec},
                      description="Features of one node, written by an agent on it.", required=["spec"], labels=OURS)


def node_feature_rule():
    expression = block({
        "op": text(enum=["In", "NotIn", "InRegexp", "Exists", "DoesNotExist", "Gt", "Ge", "Lt", "Le", "GtLt", "GeLe",
                         "IsTrue", "IsFalse"]),
        "value": array(text()), "type": text("`version` compares versions instead of whole numbers.")})
    terms = array(block({"feature": text("<domain>.<feature>"),
                         "matchExpressions": schema("object", additionalProperties=expression),
                         "matchName": expression}, required=["feature"]), "All must match.")
    taint = block({"key": text(), "value": text(), "effect": text(), "timeAdded": text(format="date-time")},
                  required=["effect", "key"])
    rule = block({
        "name": text(), "labels": text_map(), "labelsTemplate": text("Lines of key=value, a text/template of Go."),
        "annotations": text_map(), "vars": text_map("For later rules."), "varsTemplate": text(),
        "taints": array(taint), "extendedResources": text_map(), "matchFeatures": terms,
        "matchAny": array(block({"matchFeatures": terms}, required=["matchFeatures"]), "One of them must match.")},
        required=["name"])
    return definition("nfd.k8s-sigs.io", "v1alpha1", "NodeFeatureRule", "nodefeaturerules", "Cluster",
                      {"spec": block({"rules": array(rule)})},
                      description="Rules from node features to node labels.", required=["spec"], labels=OURS,
                      short_names=["nfr"])


def definition(group, version, kind, plural, scope, properties, description, columns=(), required=None, labels=None,
               short_names=None, rules=None):
    served = {"name": version, "served": True, "storage": True}
    if columns:
        served["additionalPrinterColumns"] = [{"name": n, "type": t, "jsonPath": p} for n, t, p in columns]
    root = {"apiVersion": text(), "kind": text(), "metadata": {"type": "object"}}
    more = {"x-kubernetes-validations": rules} if rules else {}
    served["schema"] = {"openAPIV3Schema": block(root | properties, description, required, **more)}
    if "status" in properties:
        served["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"} | ({"labels": labels} if labels else {}),
        "spec": {"group": group,
                 "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
                 | ({"shortNames": short_names} if short_names else {}),
                 "scope": scope, "versions": [served]},
    }


PLAIN = re.compile(r"^[A-Za-z/_][A-Za-z0-9/_.@-]*$")
WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "~"}


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if PLAIN.match(value) and value.lower() not in WORDS:
        return value
    return "'" + value.replace("'", "''") + "'"


def lines(value, indent):
    pad = " " * indent
    for key, item in value.items():
        name = f"{pad}{scalar(key)}:"
        if isinstance(item, dict) and item:
            yield name
            yield from lines(item, indent + 2)
        elif isinstance(item, list) and item:
            yield name
            for entry in item:
                if isinstance(entry, dict):
                    first, *rest = lines(entry, indent + 4)
                    yield f"{pad}  - {first.lstrip()}"
                    yield from rest
                else:
                    yield f"{pad}  - {scalar(entry)}"
        else:
            yield f"{name} {'{}' if item == {} else '[]' if item == [] else scalar(item)}"


def fields(field, path=""):
    """Names of all fields below one, which the operator compares with those of a CRD in the cluster."""
    for key, below in field.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        yield name
        yield from fields(below, name)
    if "items" in field:
        yield from fields(field["items"], f"{path}[]")
    if isinstance(field.get("additionalProperties"), dict):
        yield f"{path}.*"
        yield from fields(field["additionalProperties"], f"{path}.*")


def documents():
    known = {}
    for crd in (cluster_policy(), nvidia_driver(), gpu_cluster(), gpu_cluster_policy(), device(), node_feature(), node_feature_rule()):
        plural, group = crd["metadata"]["name"].split(".", 1)
        served = crd["spec"]["versions"][0]
        known[crd["metadata"]["name"]] = {"kind": crd["spec"]["names"]["kind"], "version": served["name"],
                                          "fields": sorted(fields(served["schema"]["openAPIV3Schema"]))}
        body = "\n".join(lines(crd, 0))
        yield CRDS / f"{group}_{plural}.yaml", (
            "# SPDX-License-Identifier: Apache-2.0\n# Written by deploy/crd_schema/generate.py.\n" + body + "\n")
    yield FIELDS, json.dumps(known, separators=(",", ":")) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path, content in documents():
        if path.exists() and path.read_text() == content:
            continue
        stale.append(path.name)
        if not check:
            path.write_text(content)
    if check and stale:
        sys.exit(f"out of date: {', '.join(stale)}; run deploy/crd_schema/generate.py")


if __name__ == "__main__":
    main()
