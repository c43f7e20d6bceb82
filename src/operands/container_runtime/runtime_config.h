// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container_runtime {

// What nvidia-container-runtime reads of config.toml; the file and its keys are NVIDIA's, the
// defaults too but for `accept_environment`: an environment variable of an image alone gives no
// GPU.
struct RuntimeConfig {
  std::vector<std::string> runtimes = {"runc", "crun"};
  bool accept_environment = false;  // accept-nvidia-visible-devices-envvar-when-unprivileged
  bool accept_mounts = false;       // accept-nvidia-visible-devices-as-volume-mounts
  std::string default_kind = "nvidia.com/gpu";
  std::vector<std::string> spec_dirs = {"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> annotation_prefixes = {"cdi.k8s.io/"};
};

// kInvalid names the line of a mistake. Keys that are not read here are left alone.
Result<RuntimeConfig> ParseRuntimeConfig(std::string_view toml);

}  // namespace gantry::container_runtime
