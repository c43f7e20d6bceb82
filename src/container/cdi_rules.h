// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "container/cdi.h"

// What a CDI document has to be beside readable, as the library of containerd and CRI-O has it
// (container-device-interface, pkg/cdi and specs-go): it leaves out a whole file that is not so.
namespace gantry::container {

// The oldest version of CDI that has all that the document uses.
std::string OldestCdiVersion(const CdiSpec& spec);

// kInvalid names the rule that the document breaks.
Status CheckCdi(const CdiSpec& spec);

}  // namespace gantry::container
