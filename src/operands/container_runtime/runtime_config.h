// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::container_runtime {

// config.toml of the NVIDIA Container Toolkit. The file, its keys and defaults are NVIDIA's, except
// `accept_environment`: an image's environment variable alone gives no GPU.
struct RuntimeConfig {
  bool disable_require = false;
  std::vector<std::string> swarm_resources;  // variables that replace NVIDIA_VISIBLE_DEVICES
  bool accept_environment = false;  // accept-nvidia-visible-devices-envvar-when-unprivileged
  bool accept_mounts = false;       // accept-nvidia-visible-devices-as-volume-mounts
  std::string supported_capabilities = "compat32,compute,display,graphics,ngx,utility,video";
  std::string driver_root;  // [nvidia-container-cli] root; empty: "/"

  // [nvidia-container-runtime]
  std::string debug = "/dev/null";
  std::string log_level = "info";
  std::vector<std::string> runtimes = {"runc", "crun"};
  std::string mode = "auto";
  std::string csv_folder = "/etc/nvidia-container-runtime/host-files-for-container.d";
  std::string csv_compat_folder;  // modes.csv.compat-container-root
  std::string default_kind = "nvidia.com/gpu";
  std::vector<std::string> spec_dirs = {"/etc/cdi", "/var/run/cdi"};
  std::vector<std::string> annotation_prefixes = {"cdi.k8s.io/"};
  std::vector<std::string> jit_features;        // modes.jit-cdi.nvcdi-feature-flags
  std::vector<std::string> jit_disabled_hooks;  // modes.jit-cdi.nvcdi-disable-hooks
  // modes.legacy.cuda-compat-mode: "disabled"; all others mean the hook here
  std::string cuda_compat_mode = "ldconfig";

  bool skip_mode_detection = false;  // of nvidia-container-runtime-hook

  // [features]
  bool disable_cuda_compat = false;   // disable-cuda-compat-lib-hook
  bool ignore_imex_requests = false;  // ignore-imex-channel-requests
  bool no_additional_gids = false;    // no-additional-gids-for-device-nodes
};

// kInvalid names the line of a mistake, or the key whose value has a wrong type. Other keys are
// ignored.
Result<RuntimeConfig> ParseRuntimeConfig(std::string_view toml);

// The unedited file: every key with its default.
std::string DefaultConfigText();

// The text with one key ("nvidia-container-runtime.mode") set; all other bytes stay. The value of a
// list is split at `list_separator`; without a value it sets a switch. kInvalid: not TOML, no such
// key, or a value of a wrong type; kUnsupported: the key's table cannot be extended.
Result<std::string> SetConfigKey(const std::string& text, std::string_view key,
                                 std::optional<std::string_view> value,
                                 std::string_view list_separator);

}  // namespace gantry::container_runtime
