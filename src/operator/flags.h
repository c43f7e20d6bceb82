// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "base/log.h"

namespace gantry::gpu_operator {

// The controller manager's flags, as NVIDIA's operator has them.
struct Flags {
  std::string metrics_address = ":8080";
  std::string probe_address = ":8081";
  bool leader_elect = false;
  std::string lease_namespace;  // empty: the operator's namespace
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds lease_duration{15'000};
  std::string kubeconfig;
  log::Level level = log::Level::kInfo;
};

// The flags; or the exit status, after --help or a mistake (already printed).
std::expected<Flags, int> ParseFlags(int argc, char** argv);

}  // namespace gantry::gpu_operator
