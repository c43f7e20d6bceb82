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

// What the doctor looks at: some ten lists, one object in memory at a time, and single objects and
// ends of logs that events point at, a bounded number of them. `ns`: whose workloads; empty:
// those of all namespaces. What the user may not read is among the facts as unread; kUnavailable,
// kTimeout and other errors of the API server end it. Blocks; of a log that takes long, `stop` ends
// the wait, as the client's own token does of the rest.
Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& ns,
                                 std::stop_token stop = {});

// What `gantry status` shows: nodes, operands, policies.
Result<ClusterFacts> ReadStatus(kube::Client& client);

}  // namespace gantry::doctor
