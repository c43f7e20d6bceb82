// SPDX-License-Identifier: Apache-2.0
// Which NVIDIA runtimes does an engine get? Users' manifests name them as RuntimeClasses.
#include "container/nvidia_runtimes.h"

#include "base/paths.h"

namespace gantry::container {

std::vector<NvidiaRuntime> NvidiaRuntimes(const std::string& chosen_name,
                                          const std::string& program) {
  const bool fixed = chosen_name == "nvidia-cdi" || chosen_name == "nvidia-legacy";
  return {{fixed ? "nvidia" : chosen_name, program},
          {"nvidia-cdi", program + ".cdi"},
          {"nvidia-legacy", program + ".legacy"}};
}

bool IsNvidiaProgram(const std::string& path) {
  return BaseName(path).starts_with("nvidia-container-runtime");
}

}  // namespace gantry::container
