// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

// A call of an OCI runtime. Only `create` changes the bundle's configuration.
struct RuntimeCall {
  bool create = false;
  bool debug = false;
  bool json_log = false;
  std::string bundle;    // empty: the working directory
  std::string log_file;  // of --log
};
RuntimeCall ReadRuntimeCall(const std::vector<std::string>& words);

// nvidia-container-runtime, or .cdi or .legacy, which fix the mode: adds devices for `create`, then
// becomes the low-level runtime. Returns (with exit status 1) only if that is not possible.
int RunContainerRuntime(const std::string& name, const std::vector<std::string>& words);

// The output of `nvidia-container-runtime --version` before the low-level runtime's own.
std::string RuntimeVersion();

// nvidia-container-runtime-hook: the prestart hook of NVIDIA's legacy mode. The runtime or CDI has
// already added the devices, so it succeeds without a request and reports an error otherwise.
int RunLegacyHook(const std::string& name, const std::vector<std::string>& words);

}  // namespace gantry::container_runtime
