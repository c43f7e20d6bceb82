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
  // Under the MIG strategy "single" a GPU has no MIG devices, or they are not alike. So it is while
  // somebody divides the GPUs anew, and then it passes.
  bool mig_unsettled = false;
  std::vector<std::string> warnings;  // what could not be said as asked, one sentence each
};

// Every label that GPU feature discovery gives a node, all values valid for Kubernetes. Count,
// replicas, sharing strategy and the suffix of the product are those of what the device plugin
// offers (gpu/for_containers.h). As upstream, `nvidia.com/gpu.count` also counts GPUs in MIG mode
// under the strategies "none" and "mixed"; `replicas` is 0 where nothing is offered.
//
// A node with several products is labelled by one of them: the one with most GPUs, and among equals
// the one with the lowest index; so the labels do not change from one look to the next. A GPU that
// does not answer is still counted where all others are of one product: its health is the device
// plugin's affair, and a label that goes when a GPU fails would take pods' node affinity with it.
Labelled GpuLabels(Facts facts, const LabelOptions& options);

// The labels with the timestamp of the published ones if nothing else differs: a restart of the
// program alone changes nothing.
LabelMap KeepTimestamp(LabelMap labels, const LabelMap& published);

}  // namespace gantry::gpu_features
