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

// What the doctor keeps of a cluster's objects: the few fields that explain why a GPU is not used.
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

// The nodes that a pod may be put on, by their labels and names.
struct NodeChoice {
  Labels labels = {};                                // nodeSelector
  std::vector<std::vector<Requirement>> terms = {};  // required affinity: one of them must hold
};

struct NodeFacts {
  std::string name;
  std::string made_at;  // RFC 3339
  bool ready = false;
  std::string why_not_ready;  // the kubelet's words while it is not
  bool leaving = false;       // it is being deleted, or its autoscaler takes it away
  bool cordoned = false;
  bool upgrade_cordon = false;  // an upgrade of its driver has cordoned it, by its own mark
  std::string gpus_out;         // the message of the condition GPUHealthy while that is False
  std::string validator_says;   // its sentence on the label's word, in an event; empty: none
  std::string not_offered;      // its device plugin's last sentence on GPUs that it leaves out
  std::string not_offered_for;  // the reason of that event
  Labels labels;                // all: pods select by any
  // Of labels that say a state: when who writes it wrote last, or later (RFC 3339).
  Labels written;
  std::vector<Taint> taints;
  GpuCounts capacity;
  GpuCounts allocatable;
  // Pods that hold GPUs of it, "namespace/name"; asked for only while its MIG layout changes.
  std::vector<std::string> holders;
};

// The label that gives a node that operand ("device-plugin").
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
  GpuCounts wants;    // what the scheduler looks for
  std::vector<Toleration> tolerations;
  NodeChoice choice;
  std::string made_at = {};    // RFC 3339
  bool gated = false;          // not to be scheduled yet, by whoever made it
  std::string scheduler;       // the scheduler's message, if it spoke
  std::string unseen_by = {};  // the scheduler's name if it has not looked at it yet
  // When an autoscaler said last that it brings a node for it (RFC 3339); empty: none did.
  std::string scaled_at = {};
};

// A workload whose pods the API server refuses, as its controller's events tell.
struct RefusalFacts {
  std::string object;  // "Deployment default/x"
  std::string message;
  bool operand = false;  // in the operator's namespace
  bool wants_gpus = false;
};

// A pod that the kubelet can't start, as its events tell.
struct StartFacts {
  std::string object;  // "pod default/x"
  std::string node;
  std::string message;
  bool wants_gpus = false;
};

// A pod with GPUs that a kubelet did not admit, which failed it for good.
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
  bool rolls = false;      // a change of it exchanges its pods by itself
  bool sees_pods = false;  // has the kubelet's pod-resources socket mounted
  bool asks_pods = true;   // of the DCGM exporter: its environment lets it use that socket
  bool publishes = false;  // of the validator: nodes bear its verdict, which NVIDIA's does not say
  std::string made_at = {};  // RFC 3339
  NodeChoice choice = {};
  std::vector<std::string> young = {};  // nodes of its pods that had no time to be ready
  std::string scheduler = {};           // the scheduler's message on a pod of it without a node
};

// "DaemonSet gpu-operator/x", as findings name what they explain.
std::string ObjectOf(const OperandFacts& operand);

// What must be in a cluster once, by whoever installed it.
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
  std::string since = {};          // so many are available since then, or later (RFC 3339)
  std::string startup_taint = {};  // its key; empty: none is asked for
};

inline constexpr char kDevicePluginSet[] = "nvidia-device-plugin-daemonset";
inline constexpr char kOperatorApp[] = "gpu-operator";  // the label `app` of the operator's pods

// One configuration of the device plugin: a key of the ConfigMap that the policy names.
struct ConfigFacts {
  std::string key;
  std::string mistake;                     // names the field; empty: none
  std::vector<std::string> warnings = {};  // what has no effect, a sentence each
};

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason;
  std::string message;
  std::string since = {};  // its last transition (RFC 3339); empty: nobody says
};

// A node whose driver is not upgraded yet, as the operator tells it in the policy's status; times
// are RFC 3339.
struct UpgradeFacts {
  std::string node;
  std::string state;
  std::string since = {};
  std::string deadline = {};  // when it goes on, or fails, by itself; empty: never
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
  std::string state;         // ready, notReady, ignored; empty: the operator has not spoken yet
  std::vector<Condition> conditions;
  std::string unseen_since = {};  // its last change, if no condition knows of it yet (RFC 3339)
  std::vector<std::string> unsupported_fields;
  std::vector<std::string> values_not_known = {};     // of the chart, with what was probably meant
  std::vector<std::string> values_not_followed = {};  // of the chart, though it knows them
  std::string ns = {};              // the operator's namespace, as its status has it
  std::string plugin_config = {};   // devicePlugin.config.name: a ConfigMap there; empty: none
  bool config_missing = false;      // that ConfigMap is not there
  std::string plugin_default = {};  // devicePlugin.config.default: a key of it; empty: none
  bool opens_by_image = false;      // an image's environment variable alone gives GPUs
  bool offers_gpus = true;          // devicePlugin.enabled
  bool labels_gpus = true;          // gfd.enabled
  bool installs_toolkit = true;     // toolkit.enabled
  bool drivers_apart = false;       // NVIDIADrivers bring them (driver.useNvidiaDriverCRD)
  std::optional<UpgradesFacts> upgrades = {};  // of drivers, while they are on
};

// What could not be looked at.
struct Unread {
  std::string what;  // "events"
  Error error;
};
inline constexpr char kPoliciesPart[] = "ClusterPolicies";
inline constexpr char kNodesPart[] = "nodes";
inline constexpr char kDaemonSetsPart[] = "DaemonSets";
inline constexpr char kDeploymentsPart[] = "Deployments";
inline constexpr char kEventsPart[] = "events";
// Those of the operator's namespace are read then.
inline constexpr char kAllDaemonSetsPart[] = "DaemonSets of all namespaces";

struct ClusterFacts {
  WallTime now{};
  std::string own_namespace = {};  // where this process runs, if that is an operator's pod
  std::vector<NodeFacts> nodes;
  std::vector<PodFacts> pending;  // pods without a node that ask for GPUs
  std::vector<RefusalFacts> refusals;
  std::vector<StartFacts> starts;
  std::vector<RejectionFacts> rejections;
  std::vector<OperandFacts> operands;
  std::vector<ContainerFacts> operand_containers;   // troubled ones
  std::vector<ContainerFacts> workload_containers;  // of pods with GPUs, that fail
  Labels drivers_begun;                             // by node: BegunAt of its driver's pod
  std::vector<OperatorFacts> operators;
  // When an operator renewed its lease last (RFC 3339); empty: there is no lease; nothing: not
  // looked at.
  std::optional<std::string> lease_renewed;
  std::vector<PartFacts> parts;
  std::vector<PolicyFacts> policies;
  std::vector<PolicyFacts> drivers;                 // NVIDIADrivers: object, state, conditions
  std::optional<std::vector<ConfigFacts>> configs;  // nothing: not looked at
  long long node_features = 0;                      // objects; 0: not counted
  std::vector<Unread> unread;
};

// nullptr: there is none, or it was not read.
const NodeFacts* NodeNamed(const ClusterFacts& cluster, const std::string& name);

// From Kubernetes' objects (core/v1 Node, apps/v1 DaemonSet and Deployment).
NodeFacts NodeFrom(const Json& node);
// Of a DaemonSet that this operator made, else nothing.
std::optional<OperandFacts> OperandFrom(const Json& daemon_set);
OperatorFacts OperatorFrom(const Json& deployment);
// The operator's namespace: as a policy's status says, else that of this process, its operands or
// its Deployment. Empty: it is not known.
std::string OperatorNamespace(const ClusterFacts& cluster);

bool IsUnread(const ClusterFacts& cluster, std::string_view part);

// Whether a DaemonSet of that name brings a driver, of a ClusterPolicy or a NVIDIADriver.
bool BringsDriver(std::string_view daemon_set);

// What an event says, without the words that are put before one which stands for many.
std::string MessageOf(const Json& event);

// When what an event tells was seen last (RFC 3339).
std::string LastSeen(const Json& event);

}  // namespace gantry::doctor
