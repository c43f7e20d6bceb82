// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/status_flags.h"
#include "base/error.h"

namespace gantry::mig_manager {

inline constexpr char kProgram[] = "nvidia-mig-manager";

// What the command line and the environment say; the names are NVIDIA's MIG manager's.
struct Flags : agent::StatusFlags {
  std::string kubeconfig;
  std::string node_name;
  std::string ns;  // of the NodeFeature; empty: the credentials' own
  std::string config_file;
  std::string default_config_file;
  std::string driver_root;
  std::string dev_root;
  std::string pod_resources;
  std::string journal;
  std::vector<std::string> ignored;  // flags that are set and have no effect here
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::mig_manager
