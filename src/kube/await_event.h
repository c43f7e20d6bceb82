// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "kube/client.h"
#include "kube/kind.h"

namespace gantry::kube {

// Watches one object of the whole cluster, from the version of it that is given, until `awaited`
// holds for an event ({"type", "object"}). kTimeout: it did not within that time; else as
// Client::WatchOnce.
Status AwaitEvent(Client& client, const Kind& kind, const Json& object,
                  std::chrono::seconds at_most,
                  const std::function<bool(const Json& event)>& awaited);

}  // namespace gantry::kube
