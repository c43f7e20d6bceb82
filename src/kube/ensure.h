// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "kube/client.h"

namespace gantry::kube {

// What an object should be, given how it is stored (nullptr: there is none).
using Form = std::function<Json(const Json* stored)>;

// Brings one object into its form with as few requests as can be: one GET, and a create or replace
// only if the form differs from what is stored. When somebody else writes in between, the object is
// read again, three times at most. True if it was written.
Result<bool> Ensure(Client& client, const Kind& kind, const Key& key, const Form& form);

}  // namespace gantry::kube
