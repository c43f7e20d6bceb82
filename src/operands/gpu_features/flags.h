// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/config_flags.h"
#include "agent/status_flags.h"
#include "base/error.h"

namespace gantry::gpu_features {

inline constexpr char kProgram[] = "gpu-feature-discovery";

// Flags and environment; the names are GPU feature discovery's. Absent ones come from the
// configuration file.
struct Flags : agent::ConfigFlags, agent::StatusFlags {
  std::optional<std::string> mig_strategy;
  std::optional<bool> fail_on_init_error;
  std::optional<bool> oneshot;
  std::optional<bool> no_timestamp;
  std::optional<std::string> sleep_interval;
  std::optional<std::string> output_file;
  std::optional<std::string> machine_type_file;
  std::optional<bool> use_node_feature_api;
  std::optional<std::string> device_discovery_strategy;
  std::optional<std::string> driver_root_ctr_path;
  std::string kubeconfig;
  std::string ns = "default";
  std::string sys_root;
  std::string host_root;
};

// Reads them, flags over variables; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::gpu_features
