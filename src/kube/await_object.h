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

// Watches one cluster-scoped object until `awaited` returns true. Another thread calls it with the
// object as stored (nullptr if absent), at first and after each change; never concurrently, and
// never after the return. Blocks; needs the verbs list and watch. kTimeout: it did not return true
// within that time; kDenied: no right to watch the object. Other failures are retried.
Status AwaitObject(Client& client, const Kind& kind, const std::string& name,
                   std::chrono::milliseconds at_most,
                   const std::function<bool(const Json* object)>& awaited);

}  // namespace gantry::kube
