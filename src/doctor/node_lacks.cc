// SPDX-License-Identifier: Apache-2.0
// Why does a ready node offer no GPU? Mostly by the validator's verdict, else by the device
// plugin's events. If an operand has its own finding, nothing is added.
#include "doctor/node_lacks.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "doctor/cluster_findings.h"
#include "doctor/mig_findings.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

Finding Validated(const NodeFacts& node, const std::string& reason) {
  const std::string words = node.validator_says.empty() ? "" : ": " + node.validator_says;
  const reasons::Reason* known = reasons::Find(reasons::Writer::kValidator, reason);
  if (known == nullptr) {
    return Problem("ValidationFailed", NodeName(node),
                   format("the validator reports {}", reason) + words,
                   format("kubectl describe node {} shows the complete message", node.name));
  }
  // These have many causes, and the message names one.
  const bool tell = reason == reasons::kDriverNotInstalled.code ||
                    reason == reasons::kRuntimeNotConfigured.code ||
                    reason == reasons::kCudaFails.code;
  return Problem(reason, NodeName(node), known->meaning + (tell ? words : ""), known->remedy);
}

// Whether a configuration's own finding explains why its device plugin rejects its settings.
bool IsConfigTold(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                  const NodeFacts& node) {
  const auto mistaken = [&node](const ConfigFacts& config) {
    return !config.mistake.empty() && node.not_offered.find(config.mistake) != std::string::npos;
  };
  const auto unknown = [&node](const Finding& finding) {
    return finding.code == kConfigUnknown &&
           (finding.nodes.empty() || finding.nodes.contains(node.name));
  };
  return std::ranges::any_of(cluster.configs.value_or(std::vector<ConfigFacts>()), mistaken) ||
         std::ranges::any_of(findings, unknown);
}

// The container toolkit writes its files and restarts the container runtime in this time.
constexpr std::chrono::minutes kToolkitPatience(1);

// Whether the toolkit has just begun to set the node up.
bool IsBeingSetUp(const ClusterFacts& cluster, const NodeFacts& node, std::string_view reason) {
  const bool of_toolkit = reason == reasons::kToolkitNotInstalled.code ||
                          reason == reasons::kCdiMissing.code ||
                          reason == reasons::kRuntimeNotConfigured.code;
  return of_toolkit && LabelIs(node, DeployLabel("container-toolkit"), "true") &&
         WrittenWithin(cluster, node, names::kGpuValidation, kToolkitPatience);
}

// Drivers come from NVIDIADrivers, and none of them serves the node.
std::optional<Finding> NoNvidiaDriver(const ClusterFacts& cluster, const NodeFacts& node) {
  const bool apart = std::ranges::any_of(cluster.policies, [](const PolicyFacts& policy) {
    return policy.state != "ignored" && policy.drivers_apart;
  });
  if (!apart || !LabelIs(node, DeployLabel("driver"), "true")) {
    return std::nullopt;
  }
  Finding finding = Validated(node, reasons::kDriverMissing.code);
  const std::string owner = ValueOf(node, names::kDriverOwner);
  if (owner.empty()) {
    finding.message += "; no NVIDIADriver selects it";
    finding.remedy = "create an NVIDIADriver for it, or correct the nodeSelector of one";
  } else {
    finding.remedy =
        format("check the status of the NVIDIADriver {}, which selects this node", owner);
  }
  return finding;
}

// Whether a taint keeps the operands' pods off the node: then no pod has a log.
bool IsUntolerated(const std::vector<Finding>& findings, const NodeFacts& node) {
  return std::ranges::any_of(findings, [&node](const Finding& finding) {
    return finding.code == reasons::kTaintNotTolerated && finding.nodes.contains(node.name);
  });
}

}  // namespace

bool RefusesSettings(const NodeFacts& node) {
  return node.not_offered_for == reasons::kInvalidDevicePluginConfig.code;
}

bool IsPluginAwaited(const StagedCluster& cluster, const std::vector<Finding>& findings,
                     const NodeFacts& node) {
  const auto plugin =
      std::ranges::find(cluster.facts.operands, kDevicePluginSet, &OperandFacts::name);
  return cluster.Of(node).is_new ||
         (plugin != cluster.facts.operands.end() &&
          (IsNew(cluster.facts, plugin->made_at) ||
           IsExplained(findings, ObjectOf(*plugin), node.name) ||
           std::ranges::find(plugin->young, node.name) != plugin->young.end()));
}

std::optional<Finding> OfSettings(const ClusterFacts& cluster, const std::vector<Finding>& findings,
                                  const NodeFacts& node) {
  if (IsConfigTold(cluster, findings, node)) {
    return std::nullopt;
  }
  return Problem(kConfigInvalid, NodeName(node),
                 "its device plugin rejects its settings: " + node.not_offered,
                 reasons::kInvalidDevicePluginConfig.remedy);
}

std::optional<Finding> WhyNoGpus(const StagedCluster& cluster, const std::vector<Finding>& findings,
                                 const NodeFacts& node) {
  const NodeStage& stage = cluster.Of(node);
  const std::string& word = stage.lacks;
  const OperandFacts* driver = stage.driver;
  if (IsAboutDriversFiles(word) && driver != nullptr) {
    if (IsExplained(findings, ObjectOf(*driver), node.name) || IsUntolerated(findings, node)) {
      return std::nullopt;
    }
    if (stage.installing) {
      return Note(reasons::kDriverContainerNotReady.code, NodeName(node),
                  "its driver is being installed",
                  "wait: its image is being pulled, or its modules are being compiled");
    }
    return Validated(node, reasons::kDriverContainerNotReady.code);
  }
  if (IsBeingSetUp(cluster.facts, node, word)) {
    return Note(word, NodeName(node), "its container runtime is being set up for GPUs",
                "wait: the container toolkit needs up to a minute");
  }
  if (word == reasons::kDriverMissing.code) {
    return NoNvidiaDriver(cluster.facts, node).value_or(Validated(node, word));
  }
  if (word != reasons::kNoGpuAllocatable.code) {
    return Validated(node, word);
  }
  if (IsPluginAwaited(cluster, findings, node)) {
    return std::nullopt;
  }
  if (RefusesSettings(node)) {
    return OfSettings(cluster.facts, findings, node);
  }
  Finding finding = LayoutsDiffer(node).value_or(Validated(node, word));
  if (finding.code == word && !node.not_offered.empty()) {
    finding.message += "; its device plugin reports: " + node.not_offered;
    if (const auto* event = reasons::Find(reasons::Writer::kDevicePlugin, node.not_offered_for);
        event != nullptr) {
      finding.remedy = event->remedy;
    }
  }
  return finding;
}

}  // namespace gantry::doctor
