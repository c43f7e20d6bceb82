// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/child_call.h"
#include "kube/client.h"
#include "operands/gpu_features/labels.h"
#include "policy/device.h"

namespace gantry::gpu_features {

// What the cluster is told of a node.
struct Publication {
  std::optional<LabelMap> labels;  // nullopt: they stay as they are
  std::vector<policy::DeviceFacts> devices;
  bool operator==(const Publication&) const = default;
};

// The NodeFeature object `nvidia-features-for-<node>`, by which the labels reach the node, and a
// Device object for each GPU, where the cluster has their definition.
class Publisher {
 public:
  struct Target {
    std::string kubeconfig;  // empty: as kube::LoadConfig finds it
    std::string space;
    std::string node;
  };
  explicit Publisher(Target target) : target_(std::move(target)) {}

  // Stores what is not stored already; a timestamp alone is no difference. Opens a connection and
  // closes it again. True if something was written.
  Result<bool> Publish(const Publication& publication);
  // The same in a child process, with which TLS and its megabytes go. Single-threaded.
  Result<bool> PublishInChild(const Publication& publication, int stop_fd);

 private:
  Result<bool> StoreLabels(kube::Client& client, const LabelMap& labels);
  Result<bool> StoreDevices(kube::Client& client, const std::vector<policy::DeviceFacts>& devices);

  Target target_;
  host::ChildCall child_{"publish labels"};
};

// The same for a file of `key=value` lines, which NFD's local source reads; an empty path is
// standard output. True if something was written.
Result<bool> PublishFile(const std::string& path, const LabelMap& labels);

}  // namespace gantry::gpu_features
