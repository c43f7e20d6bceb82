// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "kube/client.h"

namespace gantry::doctor {

// Shows the output of `gantry status`, again whenever nodes, operands or policies change it, until
// SIGINT, SIGTERM, SIGQUIT or SIGHUP: on a terminal in place, on its alternate screen; elsewhere
// one table after the other, each with its time. Operands are those of the namespace
// `operand_space`; empty: of all. kDenied and kInvalid if the API server refuses to list or watch
// nodes or ClusterPolicies. Transient failures (a restarting server) are waited for; the last table
// stays, below a line that says since when. Call it before other threads start.
Status WatchStatus(kube::Client& client, const std::string& operand_namespace);

}  // namespace gantry::doctor
