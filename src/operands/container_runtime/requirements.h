// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// NVIDIA_REQUIRE_*: an image's requirements on the driver and the GPU, as NVIDIA's base images set
// them: "cuda>=12.2 brand=tesla,driver>=470,driver<471".
namespace gantry::container_runtime {

// Known properties of a node: "cuda", "driver", "brand", "arch". Unknown ones have no entry.
using RequirementFacts = std::map<std::string, std::string>;

struct Requirement {
  std::string name;  // of the variable
  std::string text;  // alternatives separated by spaces, each of terms separated by commas
};

// The requirements in a container's environment. An image older than NVIDIA_REQUIRE_CUDA requires
// its CUDA_VERSION. None if NVIDIA_DISABLE_REQUIRE is set to a true value.
std::vector<Requirement> RequirementsOf(const std::vector<std::string>& environment);

// kUnsupported names the first unmet requirement, and the node's value; kInvalid an invalid one. A
// term on an unknown property counts as met.
Status CheckRequirements(const std::vector<Requirement>& requirements,
                         const RequirementFacts& facts);

}  // namespace gantry::container_runtime
