// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"

// Selects the content of a support bundle from the objects of a cluster.
namespace gantry::doctor {

// The parts of a Node that concern its GPUs: metadata, taints, conditions, resources, system; no
// addresses, which other components' annotations have too, and no images.
Json NodePart(const Json& node);

// ConfigMaps of the operator's namespace that the ClusterPolicy names, in order. None if the policy
// can't be read.
std::set<std::string> NamedConfigMaps(const Json& cluster_policy);

// One container's log.
struct LogPlan {
  std::string ns;
  std::string pod;
  std::string node;
  std::string container;
  bool previous = false;  // of the container's previous run
  bool troubled = false;
  bool operator==(const LogPlan&) const = default;
};
// The logs of every container of a pod that has run, and of its previous run if there was one.
std::vector<LogPlan> LogsOf(const Json& pod);

// Logs of failing containers first, each group in its order. `left` is the number of logs beyond
// the first `most`, which are left out.
struct ChosenLogs {
  std::vector<LogPlan> logs;
  size_t left = 0;
};
ChosenLogs ChooseLogs(const std::vector<LogPlan>& logs, size_t most);

// "logs/POD/CONTAINER.log", "logs/POD/CONTAINER.previous.log".
std::string PathOf(const LogPlan& log);

}  // namespace gantry::doctor
