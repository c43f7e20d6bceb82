// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "kube/client.h"

namespace gantry::kube {

// The desired object, given the stored one (nullptr: there is none).
using Form = std::function<Json(const Json* stored)>;

// Brings one object into its form with few requests: one GET, and a create or replace only if the
// stored object differs. After a concurrent write the object is read again, three times at most.
// True if it was written.
Result<bool> Ensure(Client& client, const Kind& kind, const Key& key, const Form& form);

}  // namespace gantry::kube
