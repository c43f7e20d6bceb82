// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "doctor/container_facts.h"

// The doctor's facts on a cluster's objects: the few fields that explain why a GPU is not used.
namespace gantry::doctor {

using Labels = std::map<std::string, std::string>;

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, NoExecute, PreferNoSchedule
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;  // empty: every key
  bool exists = false;
  std::string value;
  std::string effect;  // empty: every effect
};

// One line of a node selector term: key, In/NotIn/Exists/DoesNotExist/Gt/Lt, values.
struct Requirement {
  std::string key;
  std::string op;
  std::vector<std::string> values;
  bool of_name = false;  // of the node's name (matchFields), not of a label
};

// The nodes that a pod may run on, by their labels and names.
struct NodeChoice {
  Labels labels = {};                                // nodeSelector
  std::vector<std::vector<Requirement>> terms = {};  // required affinity: one of them must hold
};

struct NodeFacts {
  std::string name;
  std::string made_at;  // RFC 3339
  bool ready = false;
  std::string why_not_ready;  // the kubelet's message while it is not ready
  bool leaving = false;       // it is being deleted, or its autoscaler removes it
  bool cordoned = false;
  bool upgrade_cordon = false;  // an upgrade of its driver has cordoned it, by its own mark
  std::string gpus_out;         // the message of the condition GPUHealthy while that is False
  // The message of the condition MIGChangeHeld, and since when (RFC 3339), while that is True.
  std::string mig_held;
  std::string mig_held_since;
  std::string validator_says;   // its sentence on the label's reason, in an event; empty: none
  std::string not_offered;      // its device plugin's last message on GPUs that it leaves out
  std::string not_offered_for;  // the reason of that event
  Labels labels;                // all: pods select by any
  // For labels with a state: when their writer last wrote them, or later (RFC 3339).
  Labels written;
  std::vector<Taint> taints;
  GpuCounts capacity;
  GpuCounts allocatable;
  // Pods that hold its GPUs, "namespace/name"; read only while its MIG layout changes.
  std::vector<std::string> holders;
};

// The label that selects the node for that operand ("device-plugin").
std::string DeployLabel(std::string_view operand);

// The value of a label; empty if there is none.
std::string ValueOf(const NodeFacts& node, const std::string& label);
bool LabelIs(const NodeFacts& node, const std::string& label, std::string_view value);
// "node n1"
std::string NodeName(const NodeFacts& node);

struct PodFacts {
  std::string ns;
  std::string name;
  std::string owner;  // "ReplicaSet default/x"; empty: none
  GpuCounts wants;    // its requests
  std::vector<Toleration> tolerations;
  NodeChoice choice;
  std::string made_at = {};    // RFC 3339
  bool gated = false;          // it has scheduling gates
  bool claims = false;         // it has resource claims
  std::string scheduler;       // the scheduler's message, if there is one
  std::string unseen_by = {};  // the scheduler's name if it has not handled the pod yet
  // When an autoscaler last announced a node for it (RFC 3339); empty: never.
  std::string scaled_at = {};
};

// A workload whose pods the API server refuses, from its controller's events.
struct RefusalFacts {
  std::string object;  // "Deployment default/x"
  std::string message;
  bool operand = false;  // in the operator's namespace
  bool wants_gpus = false;
};

// A pod that the kubelet can't start, from its events.
struct StartFacts {
  std::string object;  // "pod default/x"
  std::string node;
  std::string message;
  bool wants_gpus = false;
};

// A pod with GPUs that a kubelet did not admit, and so failed for good.
struct RejectionFacts {
  std::string object;  // "pod default/x"
  std::string owner;   // "ReplicaSet default/x"; empty: none
  std::string node;
  std::string message;
  std::string at;  // RFC 3339
};

struct OperandFacts {
  std::string ns = {};
  std::string name;
  long long desired = 0;
  long long ready = 0;
  long long updated = 0;
  bool rolls = false;        // a change of it replaces its pods automatically
  bool sees_pods = false;    // it mounts the kubelet's pod-resources socket
  bool asks_pods = true;     // DCGM exporter: its environment enables that socket
  bool publishes = false;    // validator: it labels nodes with its verdict, which NVIDIA's does not
  std::string made_at = {};  // RFC 3339
  NodeChoice choice = {};
  std::vector<std::string> young = {};  // nodes whose pods had no time to become ready
  std::string scheduler = {};           // the scheduler's message on one of its pods without a node
};

// "DaemonSet gpu-operator/x", as findings name the object that they explain.
std::string ObjectOf(const OperandFacts& operand);

// Parts that a cluster must have only once, from any installation.
enum class Part { kDevicePlugin, kNfdMaster, kCertManager };
struct PartFacts {
  Part part = Part::kDevicePlugin;
  std::string object;  // "DaemonSet kube-system/x"
  NodeChoice choice = {};
};

// The operator's own Deployment.
struct OperatorFacts {
  std::string object;  // "Deployment gpu-operator/gpu-operator"
  std::string ns = {};
  long long wanted = 0;
  long long available = 0;
  std::string since = {};  // when the number of available pods last changed, or later (RFC 3339)
  std::string startup_taint = {};  // its key; empty: not configured
};

inline constexpr char kDevicePluginSet[] = "nvidia-device-plugin-daemonset";
inline constexpr char kOperatorApp[] = "gpu-operator";  // the label `app` of the operator's pods

// One configuration of the device plugin: a key of the ConfigMap that the policy names.
struct ConfigFacts {
  std::string key;
  std::string mistake;                     // names the field; empty: none
  std::vector<std::string> warnings = {};  // fields without effect, a sentence each
};

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason;
  std::string message;
  std::string since = {};  // its last transition (RFC 3339); empty: unknown
};

// A node whose driver is not upgraded yet, from the operator's entry in the policy's status; times
// are RFC 3339.
struct UpgradeFacts {
  std::string node;
  std::string state;
  std::string since = {};
  std::string deadline = {};  // when the step ends or fails automatically; empty: never
  std::string reason = {};
  std::string next = {};
};

struct UpgradesFacts {
  long long total = 0;
  long long done = 0;
  long long in_progress = 0;
  long long failed = 0;
  long long pending = 0;
  std::vector<UpgradeFacts> nodes;  // a hundred at most
};

struct PolicyFacts {
  std::string object;        // "ClusterPolicy cluster-policy"
  std::string made_at = {};  // RFC 3339
  std::string state;         // ready, notReady, ignored; empty: the operator has not set it yet
  std::vector<Condition> conditions;
  std::string unseen_since = {};  // its last change, if no condition knows of it yet (RFC 3339)
  std::vector<std::string> unsupported_fields;
  std::vector<std::string> values_not_known = {};     // of the chart, with the value probably meant
  std::vector<std::string> values_not_followed = {};  // of the chart, known but without effect
  std::string ns = {};              // the operator's namespace, as its status has it
  std::string plugin_config = {};   // devicePlugin.config.name: a ConfigMap there; empty: none
  bool config_missing = false;      // that ConfigMap does not exist
  std::string plugin_default = {};  // devicePlugin.config.default: a key of it; empty: none
  bool opens_by_image = false;      // an image's environment variable alone grants GPUs
  bool offers_gpus = true;          // devicePlugin.enabled
  bool labels_gpus = true;          // gfd.enabled
  bool installs_toolkit = true;     // toolkit.enabled
  bool by_claims = false;           // a GPUCluster: GPUs are given out by resource claims
  bool drivers_apart = false;       // drivers come from NVIDIADrivers (driver.useNvidiaDriverCRD)
  std::optional<UpgradesFacts> upgrades = {};  // of drivers, while they are on
};

// A part that could not be read.
struct Unread {
  std::string what;  // "events"
  Error error;
};
inline constexpr char kPoliciesPart[] = "ClusterPolicies";
inline constexpr char kNodesPart[] = "nodes";
inline constexpr char kSlicesPart[] = "ResourceSlices";
inline constexpr char kDaemonSetsPart[] = "DaemonSets";
inline constexpr char kDeploymentsPart[] = "Deployments";
inline constexpr char kEventsPart[] = "events";
// Then the operator's namespace is read.
inline constexpr char kAllDaemonSetsPart[] = "DaemonSets of all namespaces";

struct ClusterFacts {
  WallTime now{};
  std::string own_namespace = {};  // of this process, if it runs in an operator's pod
  std::vector<NodeFacts> nodes;
  std::vector<PodFacts> pending;  // pods without a node that request GPUs
  std::vector<RefusalFacts> refusals;
  std::vector<StartFacts> starts;
  std::vector<RejectionFacts> rejections;
  std::vector<OperandFacts> operands;
  std::vector<ContainerFacts> operand_containers;   // failing ones
  std::vector<ContainerFacts> workload_containers;  // of pods with GPUs, that fail
  Labels drivers_begun;                             // by node: BegunAt of the driver's pod
  std::vector<OperatorFacts> operators;
  // When an operator renewed its lease last (RFC 3339); empty: there is no lease; nothing: not
  // read.
  std::optional<std::string> lease_renewed;
  std::vector<PartFacts> parts;
  std::vector<PolicyFacts> policies;
  std::vector<PolicyFacts> drivers;                 // NVIDIADrivers: object, state, conditions
  std::optional<std::vector<ConfigFacts>> configs;  // nothing: not read
  long long node_features = 0;                      // objects; 0: not counted
  // Devices of gpu.nvidia.com in ResourceSlices, by node; nothing: not read. And how many of them
  // are allocated to claims.
  std::optional<std::map<std::string, long long>> devices;
  long long devices_allocated = 0;
  std::vector<Unread> unread;
};

// nullptr: there is none, or it was not read.
const NodeFacts* NodeNamed(const ClusterFacts& cluster, const std::string& name);

// From Kubernetes' objects (core/v1 Node, apps/v1 DaemonSet and Deployment).
NodeFacts NodeFrom(const Json& node);
// From a DaemonSet that this operator made, else nothing.
std::optional<OperandFacts> OperandFrom(const Json& daemon_set);
OperatorFacts OperatorFrom(const Json& deployment);
// The operator's namespace: from a policy's status, else that of this process, its operands or its
// Deployment. Empty: unknown.
std::string OperatorNamespace(const ClusterFacts& cluster);

bool IsUnread(const ClusterFacts& cluster, std::string_view part);

// Whether a DaemonSet of that name installs a driver, of a ClusterPolicy or a NVIDIADriver.
bool BringsDriver(std::string_view daemon_set);

// An event's message, without the prefix of an event that stands for many.
std::string MessageOf(const Json& event);

// When the event was last seen (RFC 3339).
std::string LastSeen(const Json& event);

}  // namespace gantry::doctor
