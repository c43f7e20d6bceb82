// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "host/child_call.h"
#include "operands/gpu_features/labels.h"

namespace gantry::gpu_features {

// The NodeFeature object `nvidia-features-for-<node>`, by which the labels reach the node.
class Publisher {
 public:
  struct Target {
    std::string kubeconfig;  // empty: as kube::LoadConfig finds it
    std::string space;
    std::string node;
  };
  explicit Publisher(Target target) : target_(std::move(target)) {}

  // Stores the labels unless they are stored already, but for their timestamp. Opens a connection
  // and closes it again. True if something was written.
  Result<bool> Publish(const LabelMap& labels);
  // The same in a child process, with which TLS and its megabytes go. Single-threaded.
  Result<bool> PublishInChild(const LabelMap& labels, int stop_fd);

 private:
  Target target_;
  host::ChildCall child_{"publish labels"};
};

// The same for a file of `key=value` lines, which NFD's local source reads; an empty path is
// standard output. True if something was written.
Result<bool> PublishFile(const std::string& path, const LabelMap& labels);

}  // namespace gantry::gpu_features
