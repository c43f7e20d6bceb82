// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "nfd/features.h"
#include "nfd/label_policy.h"

namespace gantry::gpu_operator {

using Labels = std::map<std::string, std::string, std::less<>>;

// Labels as "key=value" lines: a map of them takes five times the memory.
std::string PackLabels(const Labels& labels);
Labels UnpackLabels(std::string_view packed);
// The label's value; empty if there is none.
std::string ValueOf(const Labels& labels, std::string_view key);
// The same from packed labels, without unpacking: for few labels of many nodes.
std::string_view ValueIn(std::string_view packed, std::string_view key);
// Calls `call` with the key and value of each packed label, in the order of the keys.
template <typename Call>
void ForEachLabel(std::string_view packed, const Call& call) {
  while (!packed.empty()) {
    const size_t end = packed.find('\n');
    const std::string_view line = packed.substr(0, end);
    const size_t equals = line.find('=');
    call(line.substr(0, equals), line.substr(equals + 1));
    packed.remove_prefix(end + 1);
  }
}

// One core/v1 Taint.
struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  bool operator==(const Taint&) const = default;
};

// How Nodes are read.
struct NodeReading {
  std::string instance = {};  // of node feature discovery, as NfdRecord has it
  bool others = false;        // whether other writers' keys on a node matter
};

// The relevant parts of a Node, about 1 KB: only these are kept.
struct NodeFacts {
  std::string labels;    // packed: nvidia.com/*, those from NodeFeature objects, GPUs and system
  std::string features;  // the annotation names::kFeatureLabelsAnnotation as written
  std::string startup_taint;     // the annotation names::kStartupTaint
  std::string upgrade;           // packed: the annotations about the driver's upgrade
  std::string mig_gpu_holders;   // the annotation names::kMigGpuHolders
  std::string mig_holders_step;  // the annotation names::kMigHoldersStep
  // NFD's record of its labels, if it differs from FormatNfdLabels of `features`: an NFD is or was
  // here.
  std::optional<std::string> nfd_labels;
  // What NodeFeatureRules wrote besides labels, by the node's own record, with the present values
  // (empty: removed).
  Labels rule_annotations;
  Labels rule_resources;
  std::vector<Taint> rule_taints;
  // Keys on the node that are in none of the records; empty if they don't matter.
  std::set<std::string, std::less<>> other_labels;
  std::set<std::string, std::less<>> other_annotations;
  std::set<std::string, std::less<>> other_resources;
  std::vector<Taint> taints;
  std::string runtime;     // "containerd", "cri-o", "docker": the scheme of containerRuntimeVersion
  bool described = false;  // has labels of node feature discovery, from any writer
  bool foreign_nfd = false;  // an NFD labels this node without NodeFeature objects
  bool linux = false;
  bool ready = false;  // condition Ready
  bool cordoned = false;
  bool gpu_resource = false;     // capacity has GPUs or MIG devices
  bool gpu_allocatable = false;  // the same for allocatable: some are healthy
  bool operator==(const NodeFacts&) const = default;
};
NodeFacts ProjectNode(const Json& node, const NodeReading& reading = {});

// Whether NodeFacts::labels always has this label if the node has it.
bool IsAlwaysKept(std::string_view key);

// The relevant parts of a NodeFeature.
struct FeatureFacts {
  std::string node;    // the node it describes
  std::string labels;  // packed, valid ones only
  std::string
      features;  // the parts of spec.features that NodeFeatureRules can see, as JSON; empty: none
  bool foreign = false;      // written by another node feature discovery's worker
  bool ours = false;         // written by Gantry's worker
  std::optional<bool> gpus;  // whether its PCI devices have a GPU; nullopt: not published
  int rejected = 0;          // labels that are not allowed, by policy or by Kubernetes
  // The message of Gantry's validator or MIG manager on what does not work on the node.
  std::string broken;
  // The MIG manager's annotation names::kMigHolders.
  std::string mig_holders;
  bool operator==(const FeatureFacts&) const = default;
};
// How NodeFeature objects are read.
struct FeatureReading {
  nfd::Needs needs;  // of the existing rules
  nfd::LabelPolicy label_policy = {};
  // Other namespaces than the operator's whose objects count.
  std::set<std::string, std::less<>> namespaces = {};
  bool labels = true;         // else only those by which the operator decides
  bool others_labels = true;  // else only of objects that Gantry's operands have written
};
FeatureFacts ProjectFeatures(const Json& node_feature, const FeatureReading& reading = {});

// Whether an object of that name in the operator's namespace is that of the node's worker, GPU
// feature discovery, validator or MIG manager.
bool IsOfOurOperand(std::string_view name, std::string_view node);

// The annotation of one of NFD's records (names::kNfd...): prefixed with an instance's name, so
// that several masters can keep theirs on one node (NFD's master, -instance).
std::string NfdRecord(std::string_view record, std::string_view instance);

// Whether a label may come from a NodeFeature or a rule; the key has a prefix. Labels by which the
// operator finds GPUs and chooses drivers may, whatever the policy: the policy is for the labels
// that users see, and must not disable every GPU of the cluster.
bool MayBeFeature(std::string_view key, const nfd::LabelPolicy& policy);

// The annotation names::kFeatureLabelsAnnotation, parsed and formatted: object -> label keys.
using FeatureSources = std::map<std::string, std::vector<std::string>, std::less<>>;
FeatureSources ParseSources(std::string_view annotation);
// Only the objects.
std::vector<std::string> SourceNames(std::string_view annotation);
std::string FormatSources(const FeatureSources& sources);
// The same keys in the form of NFD's annotation.
std::string FormatNfdLabels(const FeatureSources& sources);

// NFD's form of taints: "key=value:Effect", comma-separated.
std::string FormatTaints(const std::vector<Taint>& taints);
std::vector<Taint> ParseTaints(std::string_view text);

}  // namespace gantry::gpu_operator
