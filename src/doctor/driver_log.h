// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "doctor/meaning.h"

namespace gantry::doctor {

// What to do about a driver container on a node that has another driver.
inline constexpr char kOwnDriver[] =
    "the nodes have their own driver: set driver.enabled=false, or remove that driver";

// The cause that a driver container's log shows; nullptr: no known one.
const Meaning* InDriverLog(std::string_view log);

}  // namespace gantry::doctor
