// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "host/kernel_modules.h"
#include "policy/names.h"
#include "policy/plugin_config.h"

namespace gantry::device_plugin {

// The program, and the source of its events.
inline constexpr char kPluginName[] = "nvidia-device-plugin";

// What the command line and the environment say; the environment stands in for a flag that is not
// given. Empty optionals are left to the configuration file and the defaults.
struct Arguments {
  // Flags that a configuration file may hold too.
  std::optional<std::string> mig_strategy;
  std::optional<bool> fail_on_init_error;
  std::optional<std::string> driver_root;
  std::optional<std::string> dev_root;
  std::optional<bool> pass_device_specs;
  std::optional<std::vector<std::string>> device_list_strategy;
  std::optional<std::string> device_id_strategy;
  std::optional<bool> gdrcopy_enabled;
  std::optional<bool> gds_enabled;
  std::optional<bool> mofed_enabled;
  std::optional<std::string> cdi_annotation_prefix;
  std::optional<std::string> cdi_hook_path;
  std::optional<std::string> driver_root_ctr_path;
  std::optional<std::string> mps_root;
  std::optional<std::string> shared_devices_allocation_policy;
  std::optional<std::string> device_discovery_strategy;
  std::optional<std::vector<int>> imex_channel_ids;
  std::optional<bool> imex_required;

  // Flags that only the command line and the environment hold.
  std::string kubelet_socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  // Where it may be besides: the kubelet's root, and where the host's is mounted here (empty: look
  // nowhere else).
  std::string kubelet_root = names::kKubeletRoot;
  std::string kubelet_host_root;
  std::string config_file;
  std::vector<std::string> cdi_disable_hooks;
  std::vector<std::string> cdi_feature_flags;
  std::string disable_health_checks;  // DP_DISABLE_HEALTHCHECKS
  std::string enable_health_checks;   // DP_ENABLE_HEALTHCHECKS
  std::string config_dir;             // CONFIG_FILE_SRCDIR
  std::string default_config;
  std::string node_name;
  std::string kubeconfig;  // empty: the pod's service account
  std::string node_label;
  std::vector<std::string> fallback_strategies;
  std::vector<std::string> wait_for;  // status files
  std::string status_dir;
  std::string cdi_dir;
  // A CDI device of another document there, whose edits every GPU gets too ("nvidia.com/cuda=x").
  std::string cuda_cdi_device;
  std::string host_root;  // where the host's root is mounted here, for /sys, /proc and /run
};

// Reads them. kInvalid: the message is CLI11's. --help and --version print and give no value.
Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv);

enum class ListStrategy { kEnvVar, kVolumeMounts, kCdiAnnotations, kCdiCri };
enum class IdStrategy { kUuid, kIndex };
enum class SharedPolicy { kDistributed, kPacked };

// Where the driver is: the lines of the status file `driver-ready`.
struct DriverRoots {
  std::string root;           // on the host; empty: unknown
  std::string root_here;      // in this container
  std::string dev_root;       // on the host
  std::string dev_root_here;  // in this container
  bool operator==(const DriverRoots&) const = default;
};
DriverRoots RootsFrom(const std::map<std::string, std::string>& driver_ready);

// Which of `Settings::modes` the loaded kernel modules are for.
std::set<std::string> ModesOf(const std::vector<host::KernelModule>& modules);

// What the node has.
struct Found {
  DriverRoots driver;
  std::set<std::string> modes;
};

// What is in force, everything decided.
struct Settings {
  bool fail_on_init_error = true;
  bool tegra_only = false;  // no GPU but a Tegra system's is looked for
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
  std::vector<std::string> cdi_features;    // the same; those that are not known change nothing

  [[nodiscard]] bool uses_cdi() const {
    return list_strategies.contains(ListStrategy::kCdiAnnotations) ||
           list_strategies.contains(ListStrategy::kCdiCri);
  }
};

// Command line and environment, then what was found, then the file, then the defaults. kInvalid
// names the flag or key; kUnsupported names what this version can't serve.
Result<Settings> Decide(const Arguments& arguments, const policy::PluginConfig& config,
                        const Found& found);

}  // namespace gantry::device_plugin
