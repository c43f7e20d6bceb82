// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/kind.h"

namespace gantry::kube {

// Watches one object of the whole cluster until `awaited` returns true. It is called from another
// thread, with the object as stored (nullptr: there is none), at first and after each change; never
// twice at once, and no more after the return. Blocks; needs the verbs list and watch. kTimeout:
// it did not return true within that time; kDenied: the object may not be watched. Other failures
// are tried again.
Status AwaitObject(Client& client, const Kind& kind, const std::string& name,
                   std::chrono::milliseconds at_most,
                   const std::function<bool(const Json* object)>& awaited);

}  // namespace gantry::kube
