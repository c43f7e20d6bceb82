// SPDX-License-Identifier: Apache-2.0
// Which fields of a cluster's objects explain why a GPU is not used? Pure: JSON in, structs out.
#include "doctor/facts.h"

#include <algorithm>
#include <array>

#include "base/paths.h"
#include "base/text.h"
#include "kube/object.h"
#include "policy/image.h"
#include "policy/names.h"
#include "policy/plugin_config.h"

namespace gantry::doctor {
namespace {

constexpr char kDaemonSet[] = "DaemonSet";
// Of the ClusterPolicy's drivers and of NVIDIADrivers'.
constexpr std::array<std::string_view, 4> kDriverSets = {
    "nvidia-driver-daemonset", "nvidia-gpu-driver-", "nvidia-vgpu-driver-",
    "nvidia-vgpu-host-manager-driver-"};
// The toolkit's variable: containers without privilege that name GPUs in their environment get
// them.
constexpr char kImagesCount[] = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED";
// The DCGM exporter's: whether metrics bear names of pods.
constexpr char kExporterAsks[] = "DCGM_EXPORTER_KUBERNETES";
constexpr char kPluginProgram[] = "nvidia-device-plugin";
// How keys of taints begin that autoscalers and clouds set on nodes which they take away.
constexpr std::array<std::string_view, 4> kLeaving = {
    "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupt",
    "cloud.google.com/impending-node-termination", "aws-node-termination-handler/"};

Labels TextMap(const Json* object) {
  Labels labels;
  if (object != nullptr && object->is_object()) {
    for (const auto& [key, value] : object->items()) {
      if (value.is_string()) {
        labels[key] = value.get<std::string>();
      }
    }
  }
  return labels;
}

std::vector<Requirement> Requirements(const Json& term) {
  std::vector<Requirement> requirements;
  for (const char* list : {"matchExpressions", "matchFields"}) {
    for (const Json& each : ListAt(term, list)) {
      requirements.push_back({.key = TextAt(each, "key"),
                              .op = TextAt(each, "operator"),
                              .values = TextsAt(each, "values"),
                              .of_name = list == std::string_view("matchFields")});
    }
  }
  return requirements;
}

std::vector<Condition> ConditionsOf(const Json& object) {
  std::vector<Condition> conditions;
  for (const Json& each : ListAt(object, "status.conditions")) {
    conditions.push_back({.type = TextAt(each, "type"),
                          .holds = TextAt(each, "status") == "True",
                          .reason = TextAt(each, "reason"),
                          .message = TextAt(each, "message"),
                          .since = TextAt(each, "lastTransitionTime")});
  }
  return conditions;
}

NodeChoice ChoiceOf(const Json& object, const char* pod_spec) {
  NodeChoice choice;
  const Json* spec = At(object, pod_spec);
  if (spec == nullptr) {
    return choice;
  }
  choice.labels = TextMap(At(*spec, "nodeSelector"));
  for (const Json& term :
       ListAt(*spec,
              "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
              "nodeSelectorTerms")) {
    choice.terms.push_back(Requirements(term));
  }
  return choice;
}

std::string ObjectName(const Json& object) {
  return TextAt(object, "kind") + " " + kube::KeyOf(object).Text();
}

// When the label's writer wrote it or another of its fields last (meta/v1 ManagedFieldsEntry).
std::string WrittenAt(const Json& object, const std::string& label) {
  for (const Json& entry : ListAt(object, "metadata.managedFields")) {
    const Json* owned = At(entry, {"fieldsV1", "f:metadata", "f:labels", "f:" + label});
    if (owned != nullptr) {
      return TextAt(entry, "time");
    }
  }
  return "";
}

// When its status was written last, which is the kubelet's as a rule; empty: nothing tells.
std::string StatusWrittenAt(const Json& object) {
  std::string at;
  for (const Json& entry : ListAt(object, "metadata.managedFields")) {
    if (TextAt(entry, "subresource") == "status") {
      at = std::max(at, TextAt(entry, "time"));
    }
  }
  return at;
}

// When its last change was made, or a later one of its metadata, if its conditions are of an older
// generation; empty: they are of this one, or do not say.
std::string UnseenSince(const Json& policy) {
  long long seen = 0;
  for (const Json& condition : ListAt(policy, "status.conditions")) {
    seen = std::max(seen, IntAt(condition, "observedGeneration", 0));
  }
  if (seen == 0 || seen >= IntAt(policy, "metadata.generation", 0)) {
    return "";
  }
  std::string at;
  for (const Json& entry : ListAt(policy, "metadata.managedFields")) {
    if (TextAt(entry, "subresource").empty()) {
      at = std::max(at, TextAt(entry, "time"));
    }
  }
  return at;
}

// "amd64" is an architecture.
bool IsForAmdGpus(const std::string& image) {
  return image.find("rocm") != std::string::npos || image.find("amd") != image.find("amd64");
}

bool RunsPluginProgram(const Json& container) {
  const std::vector<std::string> command = TextsAt(container, "command");
  return !command.empty() && BaseName(command[0]) == kPluginProgram;
}

// The image of NVIDIA's plugin holds GPU feature discovery and the MPS control daemon too; HAMi's
// holds its scheduler.
bool IsDevicePlugin(const Json& container) {
  const std::string image = TextAt(container, "image");
  const std::vector<std::string> command = TextsAt(container, "command");
  const bool hami = image.find("projecthami/hami") != std::string::npos;
  return RunsPluginProgram(container) ||
         ((command.empty() || command[0].find("device-plugin") != std::string::npos) && !hami &&
          !IsForAmdGpus(image) &&
          (image.find("k8s-device-plugin") != std::string::npos ||
           image.find("nvidia-gpu-device-plugin") != std::string::npos ||
           policy::ImageName(image) == kPluginProgram));
}

bool RunsImageLike(const Json& object, std::string_view words) {
  return std::ranges::any_of(ListAt(object, "spec.template.spec.containers"),
                             [words](const Json& container) {
                               return TextAt(container, "image").find(words) != std::string::npos;
                             });
}

bool IsOurs(const Json& object) {
  const std::string* manager = kube::LabelOf(object, names::kManagedBy);
  return manager != nullptr && *manager == names::kManagedByGantry;
}

// Of our DaemonSets the names say what they are, but of a copy: several run by NVIDIA's image.
bool RunsDevicePlugin(const Json& object) {
  const bool ours = IsOurs(object);
  return (ours && TextAt(object, "metadata.name") == kDevicePluginSet) ||
         std::ranges::any_of(ListAt(object, "spec.template.spec.containers"),
                             ours ? RunsPluginProgram : IsDevicePlugin);
}

// However its image is called.
bool IsCertManager(const Json& object) {
  const std::string* name = kube::LabelOf(object, "app.kubernetes.io/name");
  const std::string* component = kube::LabelOf(object, "app.kubernetes.io/component");
  return name != nullptr && *name == "cert-manager" && component != nullptr &&
         *component == "controller";
}

// What a section of the policy, or a container, gives the variable; empty: it is not set, or not by
// value.
std::string EnvOf(const Json& section, std::string_view name) {
  for (const Json& variable : ListAt(section, "env")) {
    if (TextAt(variable, "name") == name) {
      return TextAt(variable, "value");
    }
  }
  return "";
}

// The kubelet's words where its runtime had no success: containerd has made the container by then
// and ends it with StartError, CRI-O has not.
bool CouldNotStart(const Json& status) {
  static constexpr std::array<std::string_view, 4> kReasons = {
      "StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError"};
  return std::ranges::any_of(kReasons, [&status](std::string_view reason) {
    return TextAt(status, "state.waiting.reason") == reason ||
           TextAt(status, "state.terminated.reason") == reason ||
           (At(status, "state.waiting") != nullptr &&
            TextAt(status, "lastState.terminated.reason") == reason);
  });
}

bool IsOperand(const ClusterFacts& cluster, const std::string& daemon_set) {
  return IsUnread(cluster, kDaemonSetsPart) ||
         std::ranges::find(cluster.operands, daemon_set, &OperandFacts::name) !=
             cluster.operands.end();
}

UpgradesFacts UpgradesFrom(const Json& told) {
  UpgradesFacts facts{.total = IntAt(told, "total", 0),
                      .done = IntAt(told, "done", 0),
                      .in_progress = IntAt(told, "inProgress", 0),
                      .failed = IntAt(told, "failed", 0),
                      .pending = IntAt(told, "pending", 0),
                      .nodes = {}};
  for (const Json& node : ListAt(told, "nodes")) {
    facts.nodes.push_back({.node = TextAt(node, "name"),
                           .state = TextAt(node, "state"),
                           .since = TextAt(node, "since"),
                           .deadline = TextAt(node, "deadline"),
                           .reason = TextAt(node, "reason"),
                           .next = TextAt(node, "next")});
  }
  return facts;
}

bool IsOfLeaving(const Taint& taint) {
  return std::ranges::any_of(
      kLeaving, [&taint](std::string_view begin) { return taint.key.starts_with(begin); });
}

}  // namespace

NodeFacts NodeFrom(const Json& node) {
  NodeFacts facts;
  facts.name = TextAt(node, "metadata.name");
  facts.made_at = TextAt(node, "metadata.creationTimestamp");
  facts.labels = TextMap(At(node, "metadata.labels"));
  facts.capacity = GpusIn(At(node, "status.capacity"));
  facts.allocatable = GpusIn(At(node, "status.allocatable"));
  for (const Json& taint : ListAt(node, "spec.taints")) {
    facts.taints.push_back({.key = TextAt(taint, "key"),
                            .value = TextAt(taint, "value"),
                            .effect = TextAt(taint, "effect")});
  }
  facts.leaving = At(node, "metadata.deletionTimestamp") != nullptr ||
                  std::ranges::any_of(facts.taints, IsOfLeaving);
  facts.cordoned = BoolAt(node, "spec.unschedulable", false);
  facts.upgrade_cordon = kube::AnnotationOf(node, names::kUpgradeCordon) != nullptr;
  const std::vector<Condition> conditions = ConditionsOf(node);
  for (const Condition& condition : conditions) {
    if (condition.type == "Ready") {
      facts.ready = condition.holds;
      facts.why_not_ready = condition.holds ? "" : condition.message;
    } else if (condition.type == names::kGpuHealthyCondition && !condition.holds) {
      facts.gpus_out = condition.message;
    }
  }
  for (const std::string& label :
       {std::string(names::kMigConfigState), std::string(names::kDriverUpgradeState),
        DeployLabel("device-plugin")}) {
    if (std::string at = WrittenAt(node, label); !at.empty()) {
      facts.written[label] = std::move(at);
    }
  }
  return facts;
}

std::string DeployLabel(std::string_view operand) {
  return std::string(names::kDeployPrefix).append(operand);
}

std::string ValueOf(const NodeFacts& node, const std::string& label) {
  const auto at = node.labels.find(label);
  return at == node.labels.end() ? "" : at->second;
}

PodFacts PodFrom(const Json& pod) {
  PodFacts facts;
  facts.space = TextAt(pod, "metadata.namespace");
  facts.name = TextAt(pod, "metadata.name");
  facts.made_at = TextAt(pod, "metadata.creationTimestamp");
  facts.owner = OwnerOf(pod);
  facts.wants = PodWants(pod);
  for (const Json& each : ListAt(pod, "spec.tolerations")) {
    facts.tolerations.push_back({.key = TextAt(each, "key"),
                                 .exists = TextAt(each, "operator") == "Exists",
                                 .value = TextAt(each, "value"),
                                 .effect = TextAt(each, "effect")});
  }
  facts.choice = ChoiceOf(pod, "spec");
  facts.gated = !ListAt(pod, "spec.schedulingGates").empty();
  // Of a pod whose claims are not there yet it says nothing.
  if (ListAt(pod, "spec.resourceClaims").empty()) {
    facts.unseen_by = TextAt(pod, "spec.schedulerName", "default-scheduler");
  }
  for (const Condition& condition : ConditionsOf(pod)) {
    if (condition.type == "PodScheduled") {
      facts.scheduler = condition.holds ? "" : condition.message;
      facts.unseen_by.clear();
    }
  }
  return facts;
}

std::optional<OperandFacts> OperandFrom(const Json& daemon_set) {
  if (!IsOurs(daemon_set)) {
    return std::nullopt;
  }
  return OperandFacts{
      .space = TextAt(daemon_set, "metadata.namespace"),
      .name = TextAt(daemon_set, "metadata.name"),
      .desired = IntAt(daemon_set, "status.desiredNumberScheduled", 0),
      .ready = IntAt(daemon_set, "status.numberReady", 0),
      .updated = IntAt(daemon_set, "status.updatedNumberScheduled", 0),
      .rolls = TextAt(daemon_set, "spec.updateStrategy.type") != "OnDelete",
      .sees_pods = std::ranges::any_of(
          ListAt(daemon_set, "spec.template.spec.volumes"),
          [](const Json& volume) {
            return TextAt(volume, "hostPath.path").find("pod-resources") != std::string::npos;
          }),
      .asks_pods =
          std::ranges::all_of(ListAt(daemon_set, "spec.template.spec.containers"),
                              [](const Json& container) {
                                return ParseBool(EnvOf(container, kExporterAsks)).value_or(true);
                              }),
      .publishes = std::ranges::any_of(
          ListAt(daemon_set, "spec.template.spec.containers"),
          [](const Json& container) { return EnvOf(container, "PUBLISH") == "true"; }),
      .made_at = TextAt(daemon_set, "metadata.creationTimestamp"),
      .choice = ChoiceOf(daemon_set, "spec.template.spec")};
}

// By what they run: everybody names and labels them otherwise. One that wants no pod (a DaemonSet
// whose selector takes no node, a Deployment that is scaled to none) does nothing.
std::optional<PartFacts> PartFrom(const Json& object) {
  const std::string kind = TextAt(object, "kind");
  const bool set = kind == kDaemonSet;
  const long long pods =
      set ? IntAt(object, "status.desiredNumberScheduled", 0) : IntAt(object, "spec.replicas", 1);
  if (pods == 0) {
    return std::nullopt;
  }
  const std::string name = ObjectName(object);
  if (set && RunsDevicePlugin(object)) {
    return PartFacts{.part = Part::kDevicePlugin,
                     .object = name,
                     .choice = ChoiceOf(object, "spec.template.spec")};
  }
  const std::string* role = kube::LabelOf(object, "role");
  if (!set && RunsImageLike(object, "node-feature-discovery") &&
      ((role != nullptr && *role == "master") ||
       TextAt(object, "metadata.name").ends_with("master"))) {
    return PartFacts{.part = Part::kNfdMaster, .object = name};
  }
  if (!set && (RunsImageLike(object, "cert-manager-controller") || IsCertManager(object))) {
    return PartFacts{.part = Part::kCertManager, .object = name};
  }
  return std::nullopt;
}

OperatorFacts OperatorFrom(const Json& deployment) {
  OperatorFacts facts = {.object = ObjectName(deployment),
                         .space = kube::KeyOf(deployment).space,
                         .wanted = IntAt(deployment, "spec.replicas", 1),
                         .available = IntAt(deployment, "status.availableReplicas", 0),
                         .since = TextAt(deployment, "metadata.creationTimestamp")};
  for (const Json& condition : ListAt(deployment, "status.conditions")) {
    if (TextAt(condition, "type") == "Available") {
      facts.since = std::max(facts.since, TextAt(condition, "lastTransitionTime"));
    }
  }
  for (const Json& container : ListAt(deployment, "spec.template.spec.containers")) {
    if (std::string key = EnvOf(container, "STARTUP_TAINT"); !key.empty()) {
      facts.startup_taint = std::move(key);
    }
  }
  return facts;
}

std::string OperatorSpace(const ClusterFacts& cluster) {
  for (const PolicyFacts& policy : cluster.policies) {
    if (!policy.space.empty()) {
      return policy.space;
    }
  }
  if (!cluster.own_space.empty()) {
    return cluster.own_space;
  }
  if (!cluster.operands.empty()) {
    return cluster.operands.front().space;
  }
  return cluster.operators.empty() ? "" : cluster.operators.front().space;
}

bool IsUnread(const ClusterFacts& cluster, std::string_view part) {
  return std::ranges::find(cluster.unread, part, &Unread::what) != cluster.unread.end();
}

bool BringsDriver(std::string_view daemon_set) {
  return std::ranges::any_of(
      kDriverSets, [daemon_set](std::string_view known) { return daemon_set.starts_with(known); });
}

bool IsOperandPod(const ClusterFacts& cluster, const Json& pod) {
  const std::string* app = kube::LabelOf(pod, "app");
  const Json* controller = ControllerOf(pod);
  return (app != nullptr && *app == kOperatorApp) ||
         (controller != nullptr && TextAt(*controller, "kind") == kDaemonSet &&
          IsOperand(cluster, TextAt(*controller, "name")));
}

bool IsOperandController(const ClusterFacts& cluster, const Json& controller) {
  if (TextAt(controller, "kind") == kDaemonSet) {
    return IsOperand(cluster, kube::KeyOf(controller).name);
  }
  const std::string owner = OwnerOf(controller);
  return std::ranges::find(cluster.operators, owner, &OperatorFacts::object) !=
         cluster.operators.end();
}

std::string BegunAt(const Json& pod) {
  std::string begun = TextAt(pod, "metadata.creationTimestamp");
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      begun = std::max(begun, TextAt(status, "state.running.startedAt"));
    }
  }
  return begun;
}

std::string UnreadySince(const Json& pod) {
  const bool ready = std::ranges::any_of(ConditionsOf(pod), [](const Condition& condition) {
    return condition.type == "Ready" && condition.holds;
  });
  const std::string deleted = TextAt(pod, "metadata.deletionTimestamp");
  return ready ? "" : deleted.empty() ? BegunAt(pod) : deleted;
}

std::vector<ConfigFacts> ConfigsFrom(const Json& config_map) {
  std::vector<ConfigFacts> configs;
  for (const auto& [key, text] : TextMap(At(config_map, "data"))) {
    const Result<policy::PluginConfig> parsed = policy::ParsePluginConfig(text);
    configs.push_back({.key = key,
                       .mistake = parsed ? "" : parsed.error().message,
                       .warnings = parsed ? parsed->warnings : std::vector<std::string>()});
  }
  return configs;
}

std::optional<RejectionFacts> RejectionFrom(const Json& pod) {
  const std::string reason = TextAt(pod, "status.reason");
  const bool admission = reason == "UnexpectedAdmissionError" ||
                         reason == "TopologyAffinityError" || reason.starts_with("OutOfnvidia");
  if (TextAt(pod, "status.phase") != "Failed" || !admission || PodWants(pod).empty()) {
    return std::nullopt;
  }
  // A pod that ran and was refused after a restart of the kubelet keeps its first start.
  const std::string start =
      TextAt(pod, "status.startTime", TextAt(pod, "metadata.creationTimestamp"));
  return RejectionFacts{.object = "pod " + kube::KeyOf(pod).Text(),
                        .owner = OwnerOf(pod),
                        .node = TextAt(pod, "spec.nodeName"),
                        .message = TextAt(pod, "status.message", reason),
                        .at = std::max(start, StatusWrittenAt(pod))};
}

PolicyFacts PolicyFrom(const Json& policy) {
  PolicyFacts facts;
  facts.object = ObjectName(policy);
  facts.made_at = TextAt(policy, "metadata.creationTimestamp");
  facts.state = TextAt(policy, "status.state");
  facts.conditions = ConditionsOf(policy);
  facts.unseen_since = UnseenSince(policy);
  for (const auto& [path, list] :
       {std::pair("status.unsupportedFields", &facts.unsupported_fields),
        std::pair("status.valuesNotKnown", &facts.values_not_known),
        std::pair("status.valuesNotFollowed", &facts.values_not_followed)}) {
    for (const Json& field : ListAt(policy, path)) {
      if (field.is_string()) {
        list->push_back(field.get<std::string>());
      }
    }
  }
  facts.space = TextAt(policy, "status.namespace");
  if (const Json* upgrades = At(policy, "status.driverUpgrades"); upgrades != nullptr) {
    facts.upgrades = UpgradesFrom(*upgrades);
  }
  facts.plugin_config = TextAt(policy, "spec.devicePlugin.config.name");
  facts.plugin_default = TextAt(policy, "spec.devicePlugin.config.default");
  if (const Json* toolkit = At(policy, "spec.toolkit"); toolkit != nullptr) {
    facts.opens_by_image = ParseBool(EnvOf(*toolkit, kImagesCount)).value_or(false);
  }
  facts.offers_gpus = BoolAt(policy, "spec.devicePlugin.enabled", true);
  facts.labels_gpus = BoolAt(policy, "spec.gfd.enabled", true);
  facts.installs_toolkit = BoolAt(policy, "spec.toolkit.enabled", true);
  facts.drivers_apart = BoolAt(policy, "spec.driver.enabled", true) &&
                        BoolAt(policy, "spec.driver.useNvidiaDriverCRD", false);
  return facts;
}

bool LacksPods(const Json& controller) {
  const std::string kind = TextAt(controller, "kind");
  if (kind == "ReplicaSet" || kind == "StatefulSet" || kind == "ReplicationController") {
    return IntAt(controller, "status.replicas", 0) < IntAt(controller, "spec.replicas", 1);
  }
  if (kind == kDaemonSet) {
    return IntAt(controller, "status.currentNumberScheduled", 0) <
           IntAt(controller, "status.desiredNumberScheduled", 0);
  }
  if (kind == "Job") {
    const auto ends = [](const Condition& condition) {
      return condition.holds && (condition.type == "Complete" || condition.type == "Failed");
    };
    if (BoolAt(controller, "spec.suspend", false) ||
        std::ranges::any_of(ConditionsOf(controller), ends)) {
      return false;
    }
    return IntAt(controller, "status.active", 0) + IntAt(controller, "status.succeeded", 0) <
           std::min(
               IntAt(controller, "spec.parallelism", 1),
               IntAt(controller, "spec.completions", IntAt(controller, "spec.parallelism", 1)));
  }
  return true;
}

bool HasSucceeded(const Json& job) {
  const auto says = [](const Condition& condition) {
    return condition.holds &&
           (condition.type == "Complete" || condition.type == "SuccessCriteriaMet");
  };
  return std::ranges::any_of(ConditionsOf(job), says) ||
         IntAt(job, "status.succeeded", 0) >= IntAt(job, "spec.completions", 1);
}

const Json* ControllerOf(const Json& object) {
  const Json& owners = ListAt(object, "metadata.ownerReferences");
  const auto found = std::ranges::find_if(
      owners, [](const Json& owner) { return BoolAt(owner, "controller", false); });
  return found == owners.end() ? nullptr : &*found;
}

std::string OwnerOf(const Json& object) {
  const Json* owner = ControllerOf(object);
  if (owner == nullptr) {
    return "";
  }
  const kube::Key key{TextAt(object, "metadata.namespace"), TextAt(*owner, "name")};
  return TextAt(*owner, "kind") + " " + key.Text();
}

std::string MessageOf(const Json& event) {
  constexpr std::string_view kCombined = "(combined from similar events): ";
  const std::string message = TextAt(event, "message");
  return message.starts_with(kCombined) ? message.substr(kCombined.size()) : message;
}

std::string LastSeen(const Json& event) {
  for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime"}) {
    if (std::string time = TextAt(event, path); !time.empty()) {
      return time;
    }
  }
  return TextAt(event, "metadata.creationTimestamp");
}

bool IsStarting(const Json& pod) {
  if (At(pod, "metadata.deletionTimestamp") != nullptr) {
    return false;
  }
  bool sandbox = std::ranges::any_of(ConditionsOf(pod), [](const Condition& condition) {
    return condition.type == "PodReadyToStartContainers" && condition.holds;
  });
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      if (CouldNotStart(status)) {
        return true;
      }
      sandbox = sandbox || !TextAt(status, "containerID").empty();
    }
  }
  return TextAt(pod, "status.phase") == "Pending" && !sandbox;
}

}  // namespace gantry::doctor
