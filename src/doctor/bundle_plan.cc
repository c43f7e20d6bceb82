// SPDX-License-Identifier: Apache-2.0
// Which objects and logs of a cluster go into a support bundle? Entire objects of the operator, the
// parts of Nodes that concern GPUs, and logs of failing containers first: a large cluster has more
// than a user can send.
#include "doctor/bundle_plan.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "doctor/container_facts.h"
#include "policy/cluster_policy.h"

namespace gantry::doctor {
namespace {

void Keep(const Json& from, Json& to, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto value = from.find(key); value != from.end()) {
      to[key] = *value;
    }
  }
}

// The operator's and node feature discovery's (prefixed by an NFD master's instance). Network
// plugins keep a node's addresses in annotations.
bool ConcernsGpus(std::string_view annotation) {
  return annotation.starts_with("nvidia.com/") || annotation.contains("nfd.node.kubernetes.io/");
}

bool HasRun(const Json& status) {
  return At(status, "state.running") != nullptr || At(status, "state.terminated") != nullptr ||
         At(status, "lastState.terminated") != nullptr;
}

}  // namespace

Json NodePart(const Json& node) {
  static const Json kNothing = Json::object();
  const auto part = [&node](const char* name) {
    const Json* value = At(node, name);
    return value == nullptr ? kNothing : *value;
  };
  Json kept = {{"apiVersion", "v1"}, {"kind", "Node"}};
  Keep(part("metadata"), kept["metadata"],
       {"name", "labels", "creationTimestamp", "deletionTimestamp"});
  const Json annotations = part("metadata.annotations");
  for (const auto& [key, value] : annotations.items()) {
    if (ConcernsGpus(key)) {
      kept["metadata"]["annotations"][key] = value;
    }
  }
  Keep(part("spec"), kept["spec"], {"taints", "unschedulable", "providerID"});
  Keep(part("status"), kept["status"], {"conditions", "capacity", "allocatable", "nodeInfo"});
  return kept;
}

std::set<std::string> NamedConfigMaps(const Json& cluster_policy) {
  const Result<policy::ClusterPolicy> policy = policy::Parse(cluster_policy);
  if (!policy.has_value()) {
    return {};
  }
  const policy::DriverOptions& driver = policy->driver_options;
  std::set<std::string> names = {
      policy->config_name,         policy->dcgm_exporter_options.config_name,
      policy->mig_config,          policy->gpu_clients,
      policy->vgpu_config,         policy->vgpu_kernel_module_config,
      driver.licensing_config,     driver.topology_config,
      driver.kernel_module_config, driver.repo_config,
      driver.cert_config};
  names.erase("");
  return names;
}

std::vector<LogPlan> LogsOf(const Json& pod) {
  const std::vector<ContainerFacts> troubles = TroubledContainers(pod);
  std::vector<LogPlan> logs;
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      LogPlan log = {.ns = TextAt(pod, "metadata.namespace"),
                     .pod = TextAt(pod, "metadata.name"),
                     .node = TextAt(pod, "spec.nodeName"),
                     .container = TextAt(status, "name")};
      log.troubled =
          std::ranges::find(troubles, log.container, &ContainerFacts::container) != troubles.end();
      if (HasRun(status)) {
        logs.push_back(log);
      }
      if (At(status, "lastState.terminated") != nullptr) {
        log.previous = true;
        logs.push_back(std::move(log));
      }
    }
  }
  return logs;
}

ChosenLogs ChooseLogs(const std::vector<LogPlan>& logs, size_t most) {
  ChosenLogs chosen;
  for (const bool troubled : {true, false}) {
    std::ranges::copy_if(logs, std::back_inserter(chosen.logs),
                         [troubled](const LogPlan& log) { return log.troubled == troubled; });
  }
  chosen.left = logs.size() > most ? logs.size() - most : 0;
  chosen.logs.resize(logs.size() - chosen.left);
  return chosen;
}

std::string PathOf(const LogPlan& log) {
  return format("logs/{}/{}{}.log", log.pod, log.container, log.previous ? ".previous" : "");
}

}  // namespace gantry::doctor
