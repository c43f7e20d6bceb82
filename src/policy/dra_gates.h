// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gantry::policy {

// What Gantry's DRA driver does with a feature gate of NVIDIA's (v0.5) that is true.
enum class DraGate {
  kUnknown,        // no such gate
  kNotServed,      // an error: claims would wait for it
  kWithoutEffect,  // another program's
};
DraGate DraGateNamed(std::string_view name);

}  // namespace gantry::policy
