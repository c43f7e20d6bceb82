// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {

// What a call of an OCI runtime is about: `create` changes the bundle's configuration, nothing else
// does.
struct RuntimeCall {
  bool create = false;
  std::string bundle;    // empty: the working directory
  std::string log_file;  // of --log
};
RuntimeCall ReadRuntimeCall(const std::vector<std::string>& words);

// Adds the devices that the bundle's config.json asks for, and replaces the file in one step; not
// written if nothing is asked for. The message of an error is for the pod's event.
Status InjectDevices(const std::string& bundle, const RuntimeConfig& settings,
                     std::vector<std::string>& warnings);

// nvidia-container-runtime: does the above for `create`, then becomes the low-level runtime.
// Returns (with exit status 1) only if that is not possible.
int RunContainerRuntime(const std::vector<std::string>& words);

// nvidia-container-runtime-hook: the prestart hook of NVIDIA's legacy mode. Devices are added by
// the runtime or by CDI before that, so it succeeds where nothing is asked for and says so
// otherwise.
int RunLegacyHook(const std::vector<std::string>& words);

// nvidia-ctk: `hook NAME ...` and `cdi list`.
int RunToolkitCli(const std::vector<std::string>& words);

}  // namespace gantry::container_runtime
