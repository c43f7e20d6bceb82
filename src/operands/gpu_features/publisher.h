// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/feature_publisher.h"
#include "base/error.h"
#include "kube/client.h"
#include "operands/gpu_features/labels.h"
#include "policy/device.h"

namespace gantry::gpu_features {

// The published state of a node.
struct Publication {
  std::optional<LabelMap> labels;  // nullopt: they do not change
  std::vector<policy::DeviceFacts> devices;
  bool operator==(const Publication&) const = default;
};

// Stores the NodeFeature object `nvidia-features-for-<node>`, by which the labels reach the node,
// and a Device object for each GPU, if the cluster has that CRD; a timestamp alone is no
// difference. True if something was written.
Result<bool> Publish(const agent::FeaturePublisher& publisher, kube::Client& client,
                     const Publication& publication);

// The same for a file of `key=value` lines, which NFD's local source reads; an empty path is
// standard output. True if something was written.
Result<bool> PublishFile(const std::string& path, const LabelMap& labels);

}  // namespace gantry::gpu_features
