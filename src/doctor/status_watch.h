// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::doctor {

// Shows what `gantry status` prints, anew whenever nodes, operands or policies make a difference to
// it, until SIGINT, SIGTERM, SIGQUIT or SIGHUP: on a terminal in place, on its alternate screen;
// elsewhere one table after the other, each under its time. Operands are those of the namespace
// `operand_space`; empty: of all. kDenied and kInvalid when the API server refuses to list or watch
// nodes or ClusterPolicies; what passes (a server that restarts) is waited for, and the last table
// stays, below a line that says since when. Call it before other threads start.
Status WatchStatus(kube::Client& client, const std::string& operand_namespace);

}  // namespace gantry::doctor
