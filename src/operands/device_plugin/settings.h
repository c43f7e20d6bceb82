// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/kernel_modules.h"
#include "operands/device_plugin/flags.h"
#include "policy/plugin_config.h"

namespace gantry::device_plugin {

enum class ListStrategy { kEnvVar, kVolumeMounts, kCdiAnnotations, kCdiCri };
enum class IdStrategy { kUuid, kIndex };
enum class SharedPolicy { kDistributed, kPacked };

// The driver's location: the lines of the status file `driver-ready`.
struct DriverRoots {
  std::string root;           // on the host; empty: unknown
  std::string root_here;      // in this container
  std::string dev_root;       // on the host
  std::string dev_root_here;  // in this container
  bool operator==(const DriverRoots&) const = default;
};
DriverRoots RootsFrom(const std::map<std::string, std::string>& driver_ready);

// The `Settings::modes` of the loaded kernel modules.
std::set<std::string> ModesOf(const std::vector<host::KernelModule>& modules);

// The node's facts.
struct Found {
  DriverRoots driver;
  std::set<std::string> modes;
};

// The resulting settings, everything decided.
struct Settings {
  bool fail_on_init_error = true;
  bool tegra_only = false;  // only searches for a Tegra system's GPU
  DriverRoots driver;
  bool pass_device_specs = false;
  std::set<ListStrategy> list_strategies = {ListStrategy::kEnvVar};
  IdStrategy id_strategy = IdStrategy::kUuid;
  std::string cdi_annotation_prefix;
  std::string cdi_hook_path;
  SharedPolicy shared_policy = SharedPolicy::kDistributed;
  policy::MigStrategy mig_strategy = policy::MigStrategy::kNone;
  policy::Sharing sharing;
  std::string mps_root;            // on the host
  std::set<std::string> modes;     // "gdrcopy", "gds", "mofed": given to every container
  std::vector<int> imex_channels;  // the same
  bool imex_required = false;      // a missing channel is an error
  policy::XidRules xids;
  std::vector<std::string> disabled_hooks;  // of CDI documents, by NVIDIA's names
  std::vector<std::string> cdi_features;    // the same; unknown ones have no effect

  [[nodiscard]] bool uses_cdi() const {
    return list_strategies.contains(ListStrategy::kCdiAnnotations) ||
           list_strategies.contains(ListStrategy::kCdiCri);
  }
};

// Command line and environment, then the node's facts, then the file, then the defaults. kInvalid
// names the flag or key; kUnsupported names what this version can't serve.
Result<Settings> Decide(const Flags& flags, const policy::PluginConfig& config, const Found& found);

}  // namespace gantry::device_plugin
