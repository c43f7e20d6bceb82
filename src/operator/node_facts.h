// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace gantry::gpu_operator {

using Labels = std::map<std::string, std::string, std::less<>>;

// "key=value" lines: how labels are kept, because a map of them costs five times as much.
std::string PackLabels(const Labels& labels);
Labels UnpackLabels(std::string_view packed);

// One core/v1 Taint.
struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  bool operator==(const Taint&) const = default;
};

// What of a Node decides anything: all that is kept of it, about 1 KB.
struct NodeFacts {
  std::string labels;  // packed: nvidia.com/*, what NodeFeature objects brought, the GPU PCI labels
  std::string features;       // the annotation names::kFeatureLabelsAnnotation as written
  std::string startup_taint;  // the annotation names::kStartupTaint
  std::vector<Taint> taints;
  std::string runtime;     // "containerd", "cri-o", "docker": the scheme of containerRuntimeVersion
  bool described = false;  // has labels of node feature discovery, whoever wrote them
  bool foreign_nfd = false;  // another node feature discovery writes this node's feature labels
  bool linux = false;
  bool ready = false;         // condition Ready
  bool gpu_resource = false;  // capacity has GPUs or MIG devices
  bool operator==(const NodeFacts&) const = default;
};
NodeFacts ProjectNode(const Json& node);

// What of a NodeFeature decides anything.
struct FeatureFacts {
  std::string node;      // the node it describes
  std::string labels;    // packed, valid ones only
  bool foreign = false;  // written by another node feature discovery's worker
  bool operator==(const FeatureFacts&) const = default;
};
FeatureFacts ProjectFeatures(const Json& node_feature);

// The annotation names::kFeatureLabelsAnnotation, read and written: object -> label keys.
using FeatureSources = std::map<std::string, std::vector<std::string>, std::less<>>;
FeatureSources ParseSources(std::string_view annotation);
std::string FormatSources(const FeatureSources& sources);

}  // namespace gantry::gpu_operator
