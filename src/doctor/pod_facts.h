// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

PodFacts PodFrom(const Json& pod);

// When a pod was made, or a container of it was started last (RFC 3339).
std::string BegunAt(const Json& pod);

// Since when a pod that is not ready had time to be: it was begun, or was to be deleted; empty: it
// is ready.
std::string UnreadySince(const Json& pod);

// Of a pod with GPUs that was not admitted, else nothing.
std::optional<RejectionFacts> RejectionFrom(const Json& pod);

// Whether a pod is still not started and is to be: it has no sandbox yet, or a container of it
// could not be started.
bool IsStarting(const Json& pod);

}  // namespace gantry::doctor
