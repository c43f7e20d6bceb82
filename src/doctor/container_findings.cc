// SPDX-License-Identifier: Apache-2.0
// Why does a container of an operand, or of the operator, not run? From the kubelet's report and
// the end of its log. A cause that no table has is reported in the kubelet's words.
#include "doctor/container_findings.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "doctor/driver_log.h"
#include "doctor/image_findings.h"
#include "doctor/remedy_fields.h"
#include "doctor/start_findings.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

constexpr std::chrono::minutes kInitPatience(10);

std::string LogsOf(const ContainerFacts& container) {
  return format("kubectl logs -n {} {} -c {} --previous", container.ns, container.pod,
                container.container);
}

constexpr char kInUse[] = "DriverInUse";
constexpr char kFails[] = "DriverContainerFails";

Finding Crashing(const StagedCluster& cluster, const ContainerFacts& container) {
  const std::string ended =
      format("container {} is crash-looping ({}, exit code {})", container.container,
             container.ended.empty() ? "Error" : container.ended, container.exit_code);
  if (BringsDriver(container.app)) {
    const NodeFacts* node = NodeNamed(cluster.facts, container.node);
    // The validator finds a working driver, and it is not this one.
    const bool other = node != nullptr && !cluster.Of(*node).changing() &&
                       ValueOf(*node, names::kGpuValidation) == names::kValidationReady;
    const Meaning* meaning = InDriverLog(container.log + container.last_words);
    if (meaning != nullptr && !(other && meaning->code == kInUse)) {
      return Problem(std::string(meaning->code), "", std::string(meaning->message),
                     std::string(meaning->remedy));
    }
    if (other) {
      return Problem("DriverConflict", "", "the node has a working driver, and " + ended,
                     kOwnDriver);
    }
    return Problem(kFails, "", ended, LogsOf(container));
  }
  if (container.app.starts_with("nvidia-dcgm")) {
    return Problem("ExporterCrashing", "",
                   ended + ": metrics are missing; pods with GPUs are not affected",
                   "wait if a driver was restarted or a GPU was reset; else read its log: " +
                       LogsOf(container));
  }
  return Problem("OperandCrashing", "",
                 NeverRan(container) ? ended + ": " + container.last_words : ended,
                 LogsOf(container));
}

bool RanOutOfMemory(const ClusterFacts& cluster, const ContainerFacts& container) {
  return container.ended == "OOMKilled" && container.ended_at >= Rfc3339(cluster.now - kRecent);
}

// It waits for something that the node lacks; the node's own finding says that. No operand waits
// for allocatable GPUs: one that does not run may be the cause of their absence.
bool IsConsequence(const StagedCluster& cluster, const ContainerFacts& container) {
  const NodeFacts* node = NodeNamed(cluster.facts, container.node);
  const std::string validation = node == nullptr ? "" : ValueOf(*node, names::kGpuValidation);
  return node == nullptr || !node->ready || cluster.Of(*node).installing ||
         (!validation.empty() && validation != names::kValidationReady &&
          validation != reasons::kNoGpuAllocatable.code &&
          validation != reasons::kKubeletDoesNotAnswer.code);
}

// The kubelet tries a pod again within this time, so one that had to wait for the toolkit is late.
constexpr std::chrono::minutes kTriedAgain(1);

// It waits for the node's container runtime, which is not configured yet, or was just now.
bool AwaitsRuntime(const StagedCluster& cluster, const ContainerFacts& container) {
  const NodeFacts* node = NodeNamed(cluster.facts, container.node);
  if (node == nullptr) {
    return false;
  }
  return cluster.Of(*node).awaits_verdict ||
         WrittenWithin(cluster.facts, *node, names::kGpuValidation, kTriedAgain);
}

// A missing ConfigMap or Secret, or a missing key of one.
bool LacksItsVolume(const ContainerFacts& container) {
  return container.waiting == kContainerCreating &&
         (container.message.find("not found") != std::string::npos ||
          container.message.find("references non-existent") != std::string::npos);
}

std::optional<Finding> OfOperand(const StagedCluster& cluster, const ContainerFacts& container) {
  if (RanOutOfMemory(cluster.facts, container)) {
    return Problem(
        "OperandOutOfMemory", "",
        format("container {} was OOM-killed{}, {} restarts so far", container.container,
               container.memory_limit.empty() ? "" : " (limit " + container.memory_limit + ")",
               container.restarts),
        "raise resources.limits.memory of its section in the ClusterPolicy");
  }
  if (WaitsForImage(container)) {
    return NotPulled(container);
  }
  if (Finding lacking = LacksFolder(container.message);
      container.waiting == kContainerCreating && !lacking.code.empty()) {
    return lacking;
  }
  std::optional<Finding> failure =
      StartFailure(NeverRan(container) ? container.last_words : container.message, false,
                   InstallsToolkit(cluster.facts));
  if (failure && !container.waiting.empty()) {
    return IsConsequence(cluster, container) || AwaitsRuntime(cluster, container)
               ? std::nullopt
               : std::move(failure);
  }
  if (EndsAgain(container, cluster.facts.now)) {
    return Crashing(cluster, container);
  }
  const bool waits_long =
      !container.since.empty() && container.since < Rfc3339(cluster.facts.now - kInitPatience);
  const bool being_made = container.waiting == kContainerCreating;
  if ((container.waiting.empty() || being_made) && !LacksItsVolume(container)) {
    if (!waits_long || IsConsequence(cluster, container)) {
      return std::nullopt;
    }
    return Problem(
        "OperandStuck", "",
        format("{} {} {} since {}{}", container.init ? "init container" : "container",
               container.container, being_made ? "is being made" : "waits", container.since,
               container.message.empty() ? "" : ": " + container.message),
        format("kubectl describe pod -n {} {}", container.ns, container.pod));
  }
  // CreateContainerConfigError, RunContainerError and others: the kubelet says why.
  return Problem(
      "OperandNotStarted", "",
      format("container {}: {}: {}", container.container, container.waiting, container.message),
      "create the ConfigMap or Secret that the message names, or check the container runtime");
}

// The operand or operator of the container, as findings name it; empty: neither.
std::string OwnerOf(const ContainerFacts& container) {
  const char* kind = container.app == kOperatorApp ? "Deployment" : "DaemonSet";
  return container.app.empty() ? "" : format("{} {}/{}", kind, container.ns, container.app);
}

std::string OperandName(const ContainerFacts& container) {
  if (container.app == kOperatorApp) {
    return format("Deployment {}/{}", container.ns, container.app);
  }
  return container.app.empty() ? format("pod {}/{}", container.ns, container.pod)
                               : "DaemonSet " + container.app;
}

std::string Places(const std::set<std::string>& nodes) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (const std::string& node : nodes) {
    if (shown.size() == kShown) {
      return format("{} and {} more", Join(shown, ", "), nodes.size() - kShown);
    }
    shown.push_back(node);
  }
  return Join(shown, ", ");
}

// Logs of a few containers of an operand are read: the others fail for the same reason.
std::vector<const ContainerFacts*> LogsFirst(const std::vector<ContainerFacts>& containers) {
  std::vector<const ContainerFacts*> read;
  std::vector<const ContainerFacts*> unread;
  for (const ContainerFacts& container : containers) {
    (container.log.empty() ? unread : read).push_back(&container);
  }
  read.insert(read.end(), unread.begin(), unread.end());
  return read;
}

}  // namespace

void ExamineOperandContainers(const StagedCluster& cluster, std::vector<Finding>& findings) {
  std::map<std::pair<std::string, std::string>, size_t> first;        // operand and code -> finding
  std::map<std::pair<std::string, std::string>, std::string> by_log;  // and container -> code
  const size_t before = findings.size();
  for (const ContainerFacts* each : LogsFirst(cluster.facts.operand_containers)) {
    const ContainerFacts& container = *each;
    std::optional<Finding> finding = OfOperand(cluster, container);
    if (!finding) {
      continue;
    }
    finding->remedy = ForApp(container.app, std::move(finding->remedy));
    finding->object = OperandName(container);
    finding->explains = OwnerOf(container);
    const std::pair place(finding->object, container.container);
    if (!container.log.empty()) {
      by_log.emplace(place, finding->code);
    } else if (const auto told = by_log.find(place);
               told != by_log.end() && finding->code == kFails) {
      finding->code = told->second;
    }
    const auto [at, added] =
        first.emplace(std::pair(finding->object, finding->code), findings.size());
    if (added) {
      findings.push_back(*std::move(finding));
    }
    if (!container.node.empty()) {
      findings[at->second].nodes.insert(container.node);
    }
  }
  for (size_t i = before; i < findings.size(); ++i) {
    if (!findings[i].nodes.empty()) {
      findings[i].object += " on " + Places(findings[i].nodes);
    }
  }
}

}  // namespace gantry::doctor
