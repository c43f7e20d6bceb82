// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "doctor/facts.h"

namespace gantry::doctor {

PodFacts PodFrom(const Json& pod);

// When a pod was created, or when one of its containers last started (RFC 3339).
std::string BegunAt(const Json& pod);

// Since when a pod is not ready: its start, or its deletion; empty: it is ready.
std::string UnreadySince(const Json& pod);

// From a pod with GPUs that was not admitted, else nothing.
std::optional<RejectionFacts> RejectionFrom(const Json& pod);

// Whether a pod should start and has not: it has no sandbox yet, or one of its containers could not
// be started.
bool IsStarting(const Json& pod);

}  // namespace gantry::doctor
