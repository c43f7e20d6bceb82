// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// NVIDIA_REQUIRE_*: what an image demands of the driver and the GPU, as NVIDIA's base images set
// it: "cuda>=12.2 brand=tesla,driver>=470,driver<471".
namespace gantry::container_runtime {

// What is known of a node: "cuda", "driver", "brand", "arch". What is not known has no entry.
using RequirementFacts = std::map<std::string, std::string>;

struct Requirement {
  std::string name;  // of the variable
  std::string text;  // alternatives between spaces, each of terms between commas
};

// The requirements in a container's environment. An image of the time before NVIDIA_REQUIRE_CUDA
// demands its CUDA_VERSION. None if NVIDIA_DISABLE_REQUIRE is set to a true value.
std::vector<Requirement> RequirementsOf(const std::vector<std::string>& environment);

// kUnsupported names the first requirement that is not met, and what the node has; kInvalid one
// that cannot be read. A term about a property that is not known is taken as met.
Status CheckRequirements(const std::vector<Requirement>& requirements,
                         const RequirementFacts& facts);

}  // namespace gantry::container_runtime
