// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "kube/client.h"

namespace gantry::doctor {

// Shows what `gantry status` prints, anew whenever nodes, operands or policies make a difference to
// it, until SIGINT, SIGTERM, SIGQUIT or SIGHUP: on a terminal in place, on its alternate screen;
// elsewhere one table after the other, each under its time. kDenied and kInvalid when the API
// server refuses a list or a watch; what passes (a server that restarts) is waited for, and the
// last table stays. Call it before other threads start.
Status WatchStatus(kube::Client& client);

}  // namespace gantry::doctor
