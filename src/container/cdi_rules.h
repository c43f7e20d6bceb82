// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "container/cdi.h"

// The rules for a CDI document in the library of containerd and CRI-O (container-device-interface,
// pkg/cdi and specs-go), which ignores the entire file if it breaks one.
namespace gantry::container {

// The oldest version of CDI that has everything the document uses.
std::string OldestCdiVersion(const CdiSpec& spec);

// kInvalid names the rule that the document breaks.
Status CheckCdi(const CdiSpec& spec);

}  // namespace gantry::container
