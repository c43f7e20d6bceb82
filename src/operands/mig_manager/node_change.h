// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::mig_manager {

// What one look at the node's GPUs needs.
struct NodeQuestion {
  std::string layout;               // its name: the value of nvidia.com/mig.config
  std::string config_file;          // empty: the layouts are made from the GPUs
  std::string default_config_file;  // has what the GPUs do not say; empty: none
  std::string driver_root;
  std::string dev_root;
  std::string pod_resources;  // the kubelet's socket
  std::string journal;
  std::string status_dir;  // of the file of owners
};

// How the GPUs are, or what is in the way.
struct NodeAnswer {
  enum class State {
    kAsWanted,
    kDiffers,  // or it is as wanted, and the change to it was cut off before its end
    kHeld,
  };
  State state = State::kAsWanted;
  std::vector<std::string> blockers;  // kHeld
};
std::string NodeAnswerText(const NodeAnswer& answer);
Result<NodeAnswer> ParseNodeAnswer(const std::string& text);

// Looks whether the layout is there; with `act` it is made, unless somebody would be cut off: GPUs
// that change are withdrawn from containers first, and offered again when this returns. An error
// leaves the GPUs as they were, or as they are to be again after the next look (Change).
// Opens NVML, which may hang: for a process that can be given up.
Result<NodeAnswer> LookAtNode(const NodeQuestion& question, bool act);

// Takes back what was cut off, because no layout is wanted any more.
Status TakeBackOnNode(const NodeQuestion& question);

}  // namespace gantry::mig_manager
