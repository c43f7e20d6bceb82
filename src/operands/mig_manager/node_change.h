// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "policy/mig_holders.h"

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
  // The change waits for who is in its way: until the last has ended, no container gets the GPUs
  // that change.
  bool waits = false;
};

// How the GPUs are, or what is in the way.
struct NodeAnswer {
  enum class State {
    kAsWanted,
    kDiffers,  // or it is as wanted, and the change to it was cut off before its end
    kHeld,
  };
  State state = State::kAsWanted;
  // All of kHeld:
  std::vector<std::string> blockers;  // "GPU 0: pod default/train"
  policy::MigHolders holders;         // the same, for the operator
  bool unsettled = false;  // who gets the GPUs is not as `waits` asks, before a look with `act`
};
std::string NodeAnswerText(const NodeAnswer& answer);
Result<NodeAnswer> ParseNodeAnswer(const std::string& text);

// Looks whether the layout is there; with `act` it is made, unless somebody would be cut off: GPUs
// that change are withdrawn from containers first, and offered again when this returns, unless the
// change waits. An error
// leaves the GPUs as they were, or as they are to be again after the next look (Change).
// Opens NVML, which may hang: for a process that can be given up.
Result<NodeAnswer> LookAtNode(const NodeQuestion& question, bool act);

// Takes back what was cut off, because no layout is wanted any more.
Status TakeBackOnNode(const NodeQuestion& question);

}  // namespace gantry::mig_manager
