// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

// What the driver manager should do: NVIDIA's commands, flags and variables.
namespace gantry::driver {

inline constexpr char kManagerProgram[] = "driver-manager";

enum class ManagerWord { kUninstall, kPreflight };

struct ManagerFlags {
  ManagerWord word = ManagerWord::kUninstall;
  std::string node_name;
  std::string ns = "gpu-operator";  // of the operands
  std::string kubeconfig;           // a path; empty: in-cluster
  bool evict_gpu_pods = true;
  bool auto_drain = true;
  bool force = false;              // also evicts pods without a controller
  bool delete_empty_dir = false;   // also evicts pods with data in an emptyDir
  std::string pod_selector;        // which pods are evicted; empty: all
  std::chrono::seconds timeout{};  // for an eviction; 0: none
  std::string own_label;           // a node label that is paused like the operands' own
  bool force_reinstall = false;
  std::string digest;  // DRIVER_CONFIG_DIGEST of the new driver; empty: not known
  std::string root;    // of the node: /proc, /sys, /run are below it
  std::string host_root;
  std::string termination_log;
};

// "90", "90s", "5m", "1h30m": as in Go's time.ParseDuration, in whole seconds (a number alone is
// seconds). kInvalid otherwise, naming the text.
Result<std::chrono::seconds> ParseSeconds(std::string_view text);

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<ManagerFlags>> ParseManagerFlags(int argc, const char* const* argv);

}  // namespace gantry::driver
