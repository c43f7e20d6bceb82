// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "nfd/evaluate.h"
#include "operator/driver_division.h"
#include "operator/node_facts.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator {

// The input for a node's labels besides the node itself.
struct LabelRules {
  // Labels come from NodeFeature objects through the operator, because no other node feature
  // discovery writes them.
  bool from_features = true;
  bool sandbox = false;
  std::string sandbox_mode = "kubevirt";
  std::string default_workload = "container";
  // nvidia.com/mig.config for nodes with MIG capable GPUs and no own value; empty: none, because no
  // MIG manager runs.
  std::string mig_default = {};
  // The operator upgrades drivers, which the driver manager on a node must know.
  bool upgrades = false;
  // The same for the nodes of these NVIDIADrivers.
  std::set<std::string> upgraded_drivers = {};
  // The NVIDIADriver of the node while it has GPUs; empty: none. nullopt: the label does not
  // change.
  std::optional<std::string> driver_owner = std::string();
  // Gantry's validator checks nodes; a third party's sets no label.
  bool validated = true;
  // Nodes get a label with the system of their driver, by which its DaemonSets select them.
  bool driver_systems = false;
  // DaemonSets that would also select nodes of other systems than their own.
  std::vector<OpenDriverSet> open_drivers = {};
  // Gantry's MIG manager publishes nvidia.com/mig.config.state; NVIDIA's writes it on the Node.
  bool mig_states = true;
  // What happens to the holders of GPUs whose MIG layout is to change.
  policy::GpuHoldersSpec gpu_holders = {};
  // GPUs by resource claims instead of a device plugin.
  bool claims = false;
  bool operator==(const LabelRules&) const = default;
};
LabelRules RulesOf(const policy::ClusterPolicy& policy, bool foreign_nfd);

// The change of a node: only keys that the operator owns.
struct NodeChange {
  Labels set;
  std::vector<std::string> remove;
  // Annotations to write or remove: the operator's record, NFD's records, those of rules.
  std::map<std::string, std::optional<std::string>> annotations;
  // The same for extended resources, in the node's status.
  std::map<std::string, std::optional<std::string>> resources;
  std::vector<Taint> taint;
  std::vector<Taint> untaint;
  // What NodeFeatures and rules request and don't get; not part of the change.
  int rejected_labels = 0;
  int rejected_resources = 0;
  int rejected_taints = 0;
  [[nodiscard]] bool empty() const {
    return set.empty() && remove.empty() && annotations.empty() && resources.empty() &&
           taint.empty() && untaint.empty();
  }
};

// The results of the cluster's NodeFeatureRules for a node.
struct RuleSays {
  nfd::Outputs outputs;
  nfd::LabelPolicy label_policy;  // which labels may be written
  bool taints = false;            // whether rules may taint nodes
  std::string instance = {};      // the prefix of NFD's records
};

// A NodeFeature object's name and what it says about the node.
using NamedFeatures = std::vector<std::pair<std::string, const FeatureFacts*>>;

// The labels that the node of that name should have. Nothing is removed because of information that
// may only be late: a label from a NodeFeature is removed if that object exists without it; a GPU
// is gone if node feature discovery describes the node and names none, in any form. `gone` are
// those of SilentOthers that were deleted: their labels are removed too. `foreign_gpus` is from
// another discovery's raw PCI features (FeatureFacts::gpus), if they are not among `features`.
NodeChange DecideLabels(const std::string& name, const NodeFacts& node,
                        const NamedFeatures& features, const LabelRules& rules,
                        const RuleSays& says = {}, const std::vector<std::string>& gone = {},
                        std::optional<bool> foreign_gpus = std::nullopt);

// Whether the node has GPUs, by its present labels.
bool IsGpuNode(const NodeFacts& node);

// Every label below nvidia.com/gpu.deploy. that the operator sets.
const std::vector<std::string>& DeployLabels();
// Whether such a label's value is one that the operator, a driver manager or a MIG manager writes.
bool IsWrittenDeployValue(std::string_view value);

}  // namespace gantry::gpu_operator
