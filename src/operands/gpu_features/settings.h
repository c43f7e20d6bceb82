// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/plugin_config.h"

namespace gantry::gpu_features {

// What the command line and the environment say; the names are GPU feature discovery's. What is
// absent is left to the configuration file.
struct Arguments {
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
  std::string space = "default";
  std::string node_name;
  // Where the configuration comes from: one file, or a folder to choose from.
  std::string config_file;
  std::string config_dir;
  std::string default_config;
  std::string node_label;
  std::vector<std::string> fallback_strategies;
  std::vector<std::string> wait_for;  // status files
  std::string status_dir;
  std::string sys_root;
  std::string host_root;
};

// Flags win over variables. Nothing if the text that was asked for (help, version) has been
// printed; kInvalid names the flag.
Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv);

// The configuration file's flags under the arguments, and the defaults under both.
struct Settings {
  policy::MigStrategy mig_strategy = policy::MigStrategy::kNone;
  policy::Sharing sharing;
  bool oneshot = false;
  bool timestamp = true;
  bool vfio = false;  // GPUs that are handed through to virtual machines, instead of the driver's
  bool fail_on_init_error = true;  // with oneshot; else the driver is waited for
  bool use_node_feature_api = true;
  std::string output_file;  // empty: stdout; used without the API
  std::string machine_type_file;
  std::string driver_root;          // of a flag or variable; where it is mounted here
  std::string driver_root_of_file;  // the same, of the configuration file
  // The driver is asked anew after this long; zero or less, or none: only when something happens.
  std::optional<std::chrono::nanoseconds> recheck;
};

// Whether the labels are published once and no more: known even where other settings are wrong.
bool IsOneshot(const Arguments& arguments, const policy::PluginConfig& config);

// kInvalid names the flag with a wrong value; kUnsupported: the discovery strategy tegra.
Result<Settings> Resolve(const Arguments& arguments, const policy::PluginConfig& config);

// Where the driver's root is mounted here, given the lines of the status file `driver-ready`, which
// stand above the configuration file; empty: nobody says.
std::string DriverRoot(const Settings& settings,
                       const std::map<std::string, std::string>& driver_ready);

}  // namespace gantry::gpu_features
