// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "operands/node_features/worker_config.h"

namespace gantry::node_features {

inline constexpr char kProgram[] = "nfd-worker";

struct Flags {
  std::string kubeconfig;
  std::string ns;  // of the NodeFeature object; empty: the pod's own
  std::string node_name;
  std::string host_prefix;  // "/host-": the host's /sys is seen at /host-sys
  std::string features_dir;
  std::string custom_dir;
  WorkerConfig config;
  bool oneshot = false;
  bool no_publish = false;  // with oneshot the labels are printed instead
  int port = 0;             // of /metrics and /healthz; 0: no server
};

// Flags win over the configuration (a file, or the variable NFD_WORKER_CONFIG) and over variables.
// Flags of NFD's worker are accepted, with one dash or two. Reads the configuration. Nothing after
// --help or --version; kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::node_features
