// SPDX-License-Identifier: Apache-2.0
// What is wrong with a cluster itself? Much of it comes from another installation: a second device
// plugin or a second NFD silently removes what the first one provided.
#include "doctor/cluster_findings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/text.h"
#include "doctor/node_choice.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

void ExamineUnread(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const Unread& unread : cluster.unread) {
    const bool denied = unread.error.kind == ErrorKind::kDenied;
    findings.push_back(Note(denied ? "NotPermitted" : "NotRead", "doctor",
                            format("could not read {}: {}", unread.what, unread.error.message),
                            denied ? "run it with an account that may read them" : "run it again"));
  }
}

// It existed, because a policy was reconciled. If it runs without Gantry's Deployment, the lease
// shows it.
bool IsOperatorGone(const ClusterFacts& cluster) {
  constexpr std::chrono::minutes kLapsed(1);
  const bool acted_on = std::ranges::any_of(cluster.policies, [](const PolicyFacts& policy) {
    return !policy.state.empty() && policy.state != "ignored";
  });
  return cluster.operators.empty() && acted_on && !IsUnread(cluster, kDeploymentsPart) &&
         cluster.lease_renewed && *cluster.lease_renewed < Rfc3339(cluster.now - kLapsed);
}

void ExamineOperator(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (IsOperatorGone(cluster)) {
    findings.push_back(Problem(kOperatorStopped, "cluster", "the operator's Deployment is missing",
                               "install the chart again (helm upgrade --install): without an "
                               "operator nothing is deployed or repaired"));
  }
  std::vector<std::string> running;
  std::vector<std::string> stopped;
  for (const OperatorFacts& deployment : cluster.operators) {
    (deployment.wanted == 0 ? stopped : running).push_back(deployment.object);
  }
  if (running.empty() && !stopped.empty()) {
    findings.push_back(
        Problem(kOperatorStopped, Join(stopped, ", "), "is scaled to 0 pods",
                "scale it to 1: without an operator nothing is deployed or repaired"));
  }
  if (running.size() > 1) {
    findings.push_back(Problem("OperatorTwice", Join(running, ", "),
                               "reconcile the same policies and nodes",
                               "remove one of them, or scale it to 0"));
  }
}

struct Once {
  Part part;
  const char* code;
  const char* message;
  const char* remedy;
};

constexpr std::array<Once, 2> kOnce = {{
    {Part::kNfdMaster, "NfdTwice", "write the same node labels: one may remove what the other sets",
     "remove one of them, or set nfd.enabled=false"},
    {Part::kCertManager, "CertManagerTwice", "manage the same certificates and webhooks",
     "remove one; the operator needs none"},
}};

// On other nodes, or for other vendors' GPUs, a second one does no harm.
void ExamineDevicePlugins(const StagedCluster& cluster, std::vector<Finding>& findings) {
  for (const NodeFacts& node : cluster.facts.nodes) {
    std::vector<std::string> objects;
    for (const PartFacts& part : cluster.facts.parts) {
      if (part.part == Part::kDevicePlugin && cluster.Of(node).has_gpu &&
          Takes(part.choice, node)) {
        objects.push_back(part.object);
      }
    }
    if (objects.size() > 1) {
      findings.push_back(Problem(
          "DevicePluginTwice", Join(objects, ", "),
          "offer the same GPUs to the kubelets: the last one to register replaces the other",
          "remove the one that the operator did not deploy, or set devicePlugin.enabled=false"));
      return;
    }
  }
}

void ExamineParts(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const Once& once : kOnce) {
    std::vector<std::string> objects;
    for (const PartFacts& part : cluster.parts) {
      if (part.part == once.part) {
        objects.push_back(part.object);
      }
    }
    if (objects.size() > 1) {
      findings.push_back(Problem(once.code, Join(objects, ", "), once.message, once.remedy));
    }
  }
}

struct Chooser {
  std::string object;
  std::string node = {};  // empty: the policy chooses
};

// The configurations in use, and the nodes or policies that use them.
std::map<std::string, Chooser> ChosenConfigs(const ClusterFacts& cluster,
                                             const PolicyFacts& policy) {
  std::map<std::string, Chooser> chosen;
  if (!policy.plugin_default.empty()) {
    chosen[policy.plugin_default] = {policy.object};
  }
  for (const NodeFacts& node : cluster.nodes) {
    if (std::string key = ValueOf(node, names::kDevicePluginConfig); !key.empty()) {
      chosen.emplace(std::move(key), Chooser{NodeName(node), node.name});
    }
  }
  return chosen;
}

// A node's label that names a configuration although there can be none.
void ExamineChoicesWithoutMap(const StagedCluster& cluster, const PolicyFacts& policy,
                              std::vector<Finding>& findings) {
  for (const NodeFacts& node : cluster.facts.nodes) {
    const std::string key = ValueOf(node, names::kDevicePluginConfig);
    if (!key.empty() && cluster.Of(node).plugin_wanted) {
      findings.push_back(Problem(
          kConfigUnknown, NodeName(node),
          format("selects the device plugin configuration {}, but the {} names no ConfigMap", key,
                 policy.object),
          format("set devicePlugin.config.name, or remove the label {}",
                 names::kDevicePluginConfig)));
      findings.back().nodes = {node.name};
    }
  }
}

void ExamineConfigs(const StagedCluster& cluster, const PolicyFacts& policy,
                    std::vector<Finding>& findings) {
  if (policy.plugin_config.empty()) {
    ExamineChoicesWithoutMap(cluster, policy, findings);
    return;
  }
  const std::string map = policy.ns + "/" + policy.plugin_config;
  if (policy.config_missing) {
    findings.push_back(Problem(kConfigUnknown, policy.object,
                               format("names ConfigMap {}, which does not exist", map),
                               "create it, or correct devicePlugin.config.name"));
  }
  if (!cluster.facts.configs.has_value()) {
    return;
  }
  const std::string object = "ConfigMap " + map;
  const std::map<std::string, Chooser> chosen = ChosenConfigs(cluster.facts, policy);
  // Neither one of several keys nor a single key is the default.
  const bool plugin = std::ranges::any_of(cluster.facts.nodes, [&cluster](const NodeFacts& node) {
    return cluster.Of(node).plugin_wanted;
  });
  if (chosen.empty() && plugin && !cluster.facts.configs->empty()) {
    findings.push_back(Note(kConfigInvalid, object, "no node uses it",
                            format("set devicePlugin.config.default, or label nodes {}=KEY",
                                   names::kDevicePluginConfig)));
  }
  std::vector<std::string> keys;
  for (const ConfigFacts& config : *cluster.facts.configs) {
    keys.push_back(config.key);
    if (!config.mistake.empty()) {
      // Without a default a node may use any.
      const bool used = policy.plugin_default.empty() || chosen.contains(config.key);
      findings.push_back(
          (used ? Problem : Note)(kConfigInvalid, object, config.key + ": " + config.mistake,
                                  "correct it: device plugins that use it keep the last valid one, "
                                  "and offer no GPU after a restart"));
    }
    for (const std::string& warning : config.warnings) {
      findings.push_back(
          Note(kConfigInvalid, object, config.key + ": " + warning, "correct it, or remove it"));
    }
  }
  for (const auto& [key, who] : chosen) {
    if (std::ranges::find(keys, key) == keys.end()) {
      findings.push_back(Problem(
          kConfigUnknown, who.object,
          format("selects the device plugin configuration {}, which {} does not have (it has: {})",
                 key, object, keys.empty() ? "none" : Join(keys, ", ")),
          format("correct the label {} or devicePlugin.config.default",
                 names::kDevicePluginConfig)));
      if (!who.node.empty()) {
        findings.back().nodes = {who.node};
      }
    }
  }
}

constexpr char kWithoutPods[] = "ExporterWithoutPods";

void ExamineExporter(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const OperandFacts& operand : cluster.operands) {
    if (operand.name != "nvidia-dcgm-exporter") {
      continue;
    }
    if (!operand.sees_pods) {
      findings.push_back(
          Problem(kWithoutPods, "DaemonSet " + operand.name,
                  "has no access to the kubelet's pod-resources socket: metrics have no pod names",
                  "remove what changed its volumes; the operator mounts the socket"));
    } else if (!operand.asks_pods) {
      // A user has set it.
      findings.push_back(Note(kWithoutPods, "DaemonSet " + operand.name,
                              "its DCGM_EXPORTER_KUBERNETES is false: metrics have no pod names",
                              "remove it from dcgmExporter.env if metrics should have pod names"));
    }
  }
}

// Gantry writes three for a node, and NFD one.
void ExamineNodeFeatures(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  constexpr long long kMostForANode = 8;
  const auto nodes = static_cast<long long>(cluster.nodes.size());
  if (nodes > 0 && cluster.node_features > kMostForANode * nodes) {
    findings.push_back(
        Problem("NodeFeaturesLeft", "cluster",
                format("has {} NodeFeature objects for {} nodes", cluster.node_features, nodes),
                "delete those of nodes that no longer exist (`kubectl get nodefeatures -A`): they "
                "load the API server"));
  }
}

}  // namespace

void ExamineCluster(const StagedCluster& cluster, std::vector<Finding>& findings) {
  ExamineUnread(cluster.facts, findings);
  ExamineOperator(cluster.facts, findings);
  ExamineDevicePlugins(cluster, findings);
  ExamineParts(cluster.facts, findings);
  for (const PolicyFacts& policy : cluster.facts.policies) {
    if (policy.state == "ignored") {
      continue;
    }
    ExamineConfigs(cluster, policy, findings);
    if (policy.opens_by_image) {
      findings.push_back(Note("GpusOpenToAll", policy.object,
                              "gives GPUs without an allocation to every container whose image "
                              "names them in its environment",
                              "remove ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED from "
                              "toolkit.env if you do not want that"));
    }
  }
  ExamineExporter(cluster.facts, findings);
  ExamineNodeFeatures(cluster.facts, findings);
}

}  // namespace gantry::doctor
