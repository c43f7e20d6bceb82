// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operands/gpu_features/facts.h"
#include "policy/plugin_config.h"

namespace gantry::gpu_features {

using LabelMap = std::map<std::string, std::string>;

struct LabelOptions {
  policy::MigStrategy mig_strategy = policy::MigStrategy::kNone;
  policy::Sharing sharing;
  std::optional<int64_t> timestamp;  // seconds since 1970; none: no timestamp label
};

struct Labelled {
  LabelMap labels;
  // With the MIG strategy "single" a GPU has no MIG devices, or different ones. This is normal
  // during a MIG reconfiguration.
  bool mig_unsettled = false;
  std::vector<std::string> warnings;  // settings that could not be followed, one sentence each
};

// Every label that GPU feature discovery gives a node, all values valid for Kubernetes. Count,
// replicas, sharing strategy and the suffix of the product match the device plugin's offer
// (gpu/for_containers.h). As upstream, `nvidia.com/gpu.count` also counts GPUs in MIG mode under
// the strategies "none" and "mixed"; `replicas` is 0 if nothing is offered.
//
// A node with several products gets the labels of one: the one with most GPUs, and among equals the
// one with the lowest index, so that labels are stable. A GPU that does not answer is still counted
// if all others are of one product: the device plugin handles health, and a label that is removed
// when a GPU fails would break pods' node affinity.
Labelled GpuLabels(Facts facts, const LabelOptions& options);

// The labels with the timestamp of the published ones if nothing else differs: a restart of the
// program alone changes nothing.
LabelMap KeepTimestamp(LabelMap labels, const LabelMap& published);

}  // namespace gantry::gpu_features
