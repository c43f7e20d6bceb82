// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/config_flags.h"
#include "agent/status_flags.h"
#include "base/error.h"
#include "policy/names.h"

namespace gantry::device_plugin {

// The program, and the source of its events.
inline constexpr char kPluginName[] = "nvidia-device-plugin";

// Flags and environment; a variable counts if its flag is not given. Empty optionals come from the
// configuration file and the defaults.
struct Flags : agent::ConfigFlags, agent::StatusFlags {
  // Flags that a configuration file may have too.
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

  // Flags that only the command line and the environment have.
  std::string kubelet_socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  // Another location of the socket: the kubelet's root, and where the host's is mounted here
  // (empty: no other location).
  std::string kubelet_root = names::kKubeletRoot;
  std::string kubelet_host_root;
  std::vector<std::string> cdi_disable_hooks;
  std::vector<std::string> cdi_feature_flags;
  std::string disable_health_checks;  // DP_DISABLE_HEALTHCHECKS
  std::string enable_health_checks;   // DP_ENABLE_HEALTHCHECKS
  std::string kubeconfig;             // empty: the pod's service account
  std::string cdi_dir;
  // A CDI device of another document in cdi_dir, whose edits every GPU gets too
  // ("nvidia.com/cuda=x").
  std::string cuda_cdi_device;
  std::string host_root;  // where the host's root is mounted here, for /sys, /proc and /run
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::device_plugin
