// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>

#include "base/error.h"
#include "doctor/facts.h"
#include "kube/client.h"

namespace gantry::doctor {

// DaemonSets and other objects that the operator made.
std::string OwnedSelector();

// Reads what the doctor needs: some ten lists, one object in memory at a time, and a bounded number
// of single objects and ends of logs that events refer to. `ns`: the workloads' namespace; empty:
// all. Parts that the user may not read are listed as unread; kUnavailable, kTimeout and other
// errors of the API server end it. Blocks; `stop` ends the wait for a log, the client's own token
// all other waits.
Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& ns,
                                 std::stop_token stop = {});

// The facts that `gantry status` shows: nodes, operands, policies.
Result<ClusterFacts> ReadStatus(kube::Client& client);

}  // namespace gantry::doctor
