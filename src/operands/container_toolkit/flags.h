// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/names.h"

namespace gantry::container_toolkit {

inline constexpr char kProgram[] = "nvidia-ctk-installer";
inline constexpr char kCleanupProgram[] = "host-cleanup";

// The toolkit's flags and environment; names and defaults are NVIDIA's, with two exceptions: unless
// enabled, an image's environment variable gives no GPU to an unprivileged container, and the
// default runtime is not changed. Paths are host paths.
struct Flags {
  bool no_daemon = false;
  bool no_runtime_config = false;
  bool nri_plugin = false;  // then the runtime's configuration is not changed
  int nri_index = 10;       // 0 to 99: its order among the plugins
  std::string nri_socket = "/var/run/nri/nri.sock";
  std::string nri_namespace;                           // the operator's; needed with nri_plugin
  std::vector<std::string> nri_management_namespaces;  // further ones whose pods may get every GPU
  std::string runtime = "containerd";
  std::string install_dir = "/usr/local/nvidia";  // the programs are in <this>/toolkit
  std::string source_root = "/opt/gantry";        // in this image: the programs to install
  std::string driver_root;  // the first root to search for a driver; empty: the usual order
  std::string driver_install_dir = names::kDriverInstallDir;  // the root of a driver container
  // A driver container of the operator installs that root, and reports when it is ready.
  bool with_driver_container = true;
  std::string dev_root;  // overrides the driver's; empty: the driver's
  std::string runtime_debug;
  std::string runtime_log_level;
  std::string runtime_mode = "auto";
  std::string default_kind;  // of CDI devices without one; empty: the runtime's, nvidia.com/gpu
  std::vector<std::string> annotation_prefixes;  // for containerd's runtimes and config.toml
  std::vector<std::string> low_level_runtimes;   // empty: found, then runc and crun
  bool accept_environment = false;
  bool accept_mounts = false;
  bool cdi_enabled = false;
  std::string cdi_output_dir = "/var/run/cdi";  // empty: no document
  std::string cdi_kind = "management.nvidia.com/gpu";
  std::string runtime_config;  // empty: found
  std::string drop_in_config;  // empty: 99-nvidia.toml in conf.d beside the root file
  std::string executable;      // empty: found
  std::string socket;          // empty: the one that the kubelet uses
  std::string restart_mode;    // signal, systemd, none; empty: systemd if it runs the runtime
  std::optional<bool> cdi_in_runtime;
  std::string host_root = "/host";
  std::string runtime_name = "nvidia";
  bool set_as_default = false;
  std::string runtime_type = "io.containerd.runc.v2";
  bool use_legacy_config = false;  // an empty configuration of containerd is of schema 1
  // Where earlier releases put a hook for CRI-O, which is removed.
  std::string hooks_dir = "/usr/share/containers/oci/hooks.d";
  std::string hook_filename = "oci-nvidia-hook.json";
  std::string pid_file = "/run/nvidia/toolkit/toolkit.pid";
  std::string create_device_nodes = "control";  // with CDI; empty: none
  std::string cli_debug;                        // nvidia-container-cli.debug of config.toml
  bool skip_mode_detection = true;
  std::vector<std::string> opt_in_features;  // features.<name> = true in config.toml
  bool ignore_errors = false;
  std::vector<std::string> remarks;  // accepted flags without effect
};

// Reads them, flags over variables; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

struct CleanupFlags {
  Flags toolkit;
  std::string done_file = "/tmp/clean";  // made once the host is as before; in this container
  bool wait = true;                      // until SIGTERM, so that the pod is not restarted
};
// The same for host-cleanup.
Result<std::optional<CleanupFlags>> ParseCleanupFlags(int argc, const char* const* argv);

// Namespaces whose pods may request management devices from the NRI plugin.
std::vector<std::string> ManagementNamespaces(const Flags& flags);

}  // namespace gantry::container_toolkit
