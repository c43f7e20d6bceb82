// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"

// What goes into a support bundle, decided from the objects of a cluster.
namespace gantry::doctor {

// What of a Node concerns its GPUs: metadata, taints, conditions, resources, system; no addresses,
// which others' annotations have too, and no images.
Json NodePart(const Json& node);

// ConfigMaps of the operator's namespace that the ClusterPolicy names, in order. None of a policy
// that can't be read.
std::set<std::string> NamedConfigMaps(const Json& cluster_policy);

// One container's log.
struct LogPlan {
  std::string ns;
  std::string pod;
  std::string node;
  std::string container;
  bool previous = false;  // of the run before this one
  bool troubled = false;
  bool operator==(const LogPlan&) const = default;
};
// Of every container of a pod that has run, and of the run before where there was one.
std::vector<LogPlan> LogsOf(const Json& pod);

// Those of troubled containers first, each group in its order; `left` is how many come after the
// `most` first ones, which are too many.
struct ChosenLogs {
  std::vector<LogPlan> logs;
  size_t left = 0;
};
ChosenLogs ChooseLogs(const std::vector<LogPlan>& logs, size_t most);

// "logs/POD/CONTAINER.log", "logs/POD/CONTAINER.previous.log".
std::string PathOf(const LogPlan& log);

}  // namespace gantry::doctor
