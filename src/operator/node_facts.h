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

// "key=value" lines: how labels are kept, because a map of them costs five times as much.
std::string PackLabels(const Labels& labels);
Labels UnpackLabels(std::string_view packed);
// The label's value; empty if there is none.
std::string ValueOf(const Labels& labels, std::string_view key);
// The same of packed labels, without unpacking them: for few labels of many nodes.
std::string_view ValueIn(std::string_view packed, std::string_view key);
// Calls with the key and the value of each packed label, in the order of the keys.
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
  bool others = false;        // whether it matters what others have put on a node
};

// What of a Node decides anything: all that is kept of it, about 1 KB.
struct NodeFacts {
  std::string labels;    // packed: nvidia.com/*, what NodeFeature objects brought, GPUs and system
  std::string features;  // the annotation names::kFeatureLabelsAnnotation as written
  std::string startup_taint;  // the annotation names::kStartupTaint
  std::string upgrade;        // packed: the annotations about the driver's upgrade
  // NFD's record of its labels, if it is not what FormatNfdLabels makes of `features`: an NFD was
  // here, or is.
  std::optional<std::string> nfd_labels;
  // What NodeFeatureRules brought besides labels, by the node's own record, with the values as they
  // are (empty: gone).
  Labels rule_annotations;
  Labels rule_resources;
  std::vector<Taint> rule_taints;
  // Keys that are on the node and in none of the records; empty where they don't matter.
  std::set<std::string, std::less<>> other_labels;
  std::set<std::string, std::less<>> other_annotations;
  std::set<std::string, std::less<>> other_resources;
  std::vector<Taint> taints;
  std::string runtime;     // "containerd", "cri-o", "docker": the scheme of containerRuntimeVersion
  bool described = false;  // has labels of node feature discovery, whoever wrote them
  bool foreign_nfd = false;  // an NFD writes this node's labels without NodeFeature objects
  bool linux = false;
  bool ready = false;  // condition Ready
  bool cordoned = false;
  bool gpu_resource = false;     // capacity has GPUs or MIG devices
  bool gpu_allocatable = false;  // the same of allocatable: some are healthy
  bool operator==(const NodeFacts&) const = default;
};
NodeFacts ProjectNode(const Json& node, const NodeReading& reading = {});

// Whether NodeFacts::labels has this label of every node that has it.
bool IsAlwaysKept(std::string_view key);

// What of a NodeFeature decides anything.
struct FeatureFacts {
  std::string node;      // the node it describes
  std::string labels;    // packed, valid ones only
  std::string features;  // what NodeFeatureRules can see of spec.features, as JSON; empty: nothing
  bool foreign = false;  // written by another node feature discovery's worker
  bool ours = false;     // written by our worker
  std::optional<bool> gpus;  // whether its PCI devices have a GPU; nullopt: they are not said
  int rejected = 0;          // labels that it may not bring, or that Kubernetes does not allow
  std::string broken;        // what our validator finds wrong with the node, in a sentence
  bool operator==(const FeatureFacts&) const = default;
};
// How NodeFeature objects are read.
struct FeatureReading {
  nfd::Needs needs;  // of the rules that there are
  nfd::LabelPolicy label_policy = {};
  // Other namespaces than the operator's whose objects count.
  std::set<std::string, std::less<>> namespaces = {};
  bool labels = true;         // else none but those that the operator itself goes by
  bool others_labels = true;  // else none of objects that no operand of ours has written
};
FeatureFacts ProjectFeatures(const Json& node_feature, const FeatureReading& reading = {});

// Whether an object of that name in the operator's namespace is the one of the node's worker, GPU
// feature discovery or validator.
bool IsOfOurOperand(std::string_view name, std::string_view node);

// The annotation of one of NFD's records (names::kNfd...): with an instance's name before it, so
// that several can keep theirs on one node (NFD's master, -instance).
std::string NfdRecord(std::string_view record, std::string_view instance);

// Whether a label may come from a NodeFeature or a rule; the key has a prefix. Those by which the
// operator finds GPUs and chooses drivers may, whatever the policy: it is made for the labels that
// users see, and would take every GPU out of the cluster.
bool MayBeFeature(std::string_view key, const nfd::LabelPolicy& policy);

// The annotation names::kFeatureLabelsAnnotation, read and written: object -> label keys.
using FeatureSources = std::map<std::string, std::vector<std::string>, std::less<>>;
FeatureSources ParseSources(std::string_view annotation);
// The objects alone.
std::vector<std::string> SourceNames(std::string_view annotation);
std::string FormatSources(const FeatureSources& sources);
// The same keys as NFD's annotation has them.
std::string FormatNfdLabels(const FeatureSources& sources);

// NFD's form of taints: "key=value:Effect", with commas between.
std::string FormatTaints(const std::vector<Taint>& taints);
std::vector<Taint> ParseTaints(std::string_view text);

}  // namespace gantry::gpu_operator
