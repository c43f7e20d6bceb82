// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "operands/gpu_features/flags.h"
#include "policy/plugin_config.h"

namespace gantry::gpu_features {

// The flags over the configuration file over the defaults.
struct Settings {
  policy::MigStrategy mig_strategy = policy::MigStrategy::kNone;
  policy::Sharing sharing;
  bool oneshot = false;
  bool timestamp = true;
  bool vfio = false;  // GPUs that are passed to virtual machines, instead of the driver's
  bool fail_on_init_error = true;  // with oneshot; else it waits for the driver
  bool use_node_feature_api = true;
  std::string output_file;  // empty: stdout; used without the API
  std::string machine_type_file;
  std::string driver_root;          // of a flag or variable; where it is mounted here
  std::string driver_root_of_file;  // the same, of the configuration file
  // The interval of calls into the driver; zero or less, or none: only after events.
  std::optional<std::chrono::nanoseconds> recheck;
};

// Whether the labels are published only once: known even if other settings are wrong.
bool IsOneshot(const Flags& flags, const policy::PluginConfig& config);

// kInvalid names the flag with a wrong value; kUnsupported: the discovery strategy tegra.
Result<Settings> Resolve(const Flags& flags, const policy::PluginConfig& config);

// Where the driver's root is mounted here, from the status file `driver-ready`, which overrides the
// configuration file; empty: unknown.
std::string DriverRoot(const Settings& settings,
                       const std::map<std::string, std::string>& driver_ready);

}  // namespace gantry::gpu_features
