// SPDX-License-Identifier: Apache-2.0

// Into which DaemonSets is a NVIDIADriver divided? An image is for one system, and a precompiled
// one also for one kernel, so its nodes are divided by these. A node counts once it has the
// driver's label, because the DaemonSet selects by it.

#include "operator/driver_pools.h"

#include <algorithm>
#include <map>

#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// The node selector of a pool; `labels` are of one of its nodes.
Json SelectorOf(const std::string& name, const policy::DriverSelection& selection,
                const std::string& deploy, const Labels& labels, const SystemFacts& system) {
  Json nodes = {{deploy, "true"}, {names::kGpuPresent, "true"}};
  for (const auto& [key, value] : selection.nodes) {
    nodes[key] = value;
  }
  nodes[names::kDriverOwner] = name;
  nodes[names::kSystemId] = system.id;
  const std::string version = ValueOf(labels, names::kSystemVersion);
  if (system.tag == system.id + version) {
    nodes[names::kSystemVersion] = version;
  } else {
    nodes[names::kSystemMajor] = version.substr(0, version.find('.'));
  }
  if (!system.kernels.empty()) {
    nodes[names::kKernelVersion] = system.kernels.front();
  }
  return nodes;
}

}  // namespace

DriverPools SplitIntoPools(const std::string& name, const policy::DriverSelection& selection,
                           const policy::NvidiaDriver& driver, const DriverOwners& owners,
                           const NamedNodes& nodes) {
  const std::string deploy = std::string(names::kDeployPrefix) +
                             (driver.type == "vgpu-host-manager" ? "vgpu-manager" : "driver");
  std::map<std::pair<std::string, std::string>, DriverPool> pools;
  DriverPools split;
  for (const auto& [node, facts] : nodes) {
    const Labels labels = UnpackLabels(facts->labels);
    const std::string marked = ValueOf(labels, names::kDriverOwner);
    const std::optional<std::string> owner = owners.OwnerOf(node);
    const bool waits = !owner.has_value() && marked.empty() && owners.Asks(name, node);
    if (ValueOf(labels, names::kGpuPresent) != "true" ||
        (owner.value_or(marked) != name && !waits)) {
      continue;
    }
    if (marked != name) {
      split.unmarked.push_back(node);
      continue;
    }
    SystemFacts system;
    system.id = ValueOf(labels, names::kSystemId);
    system.tag = SystemTag(system.id, ValueOf(labels, names::kSystemVersion));
    const std::string kernel =
        driver.options.precompiled ? ValueOf(labels, names::kKernelVersion) : "";
    if (system.tag.empty() || (driver.options.precompiled && kernel.empty())) {
      split.silent.push_back(node);
      continue;
    }
    if (!kernel.empty()) {
      system.kernels = {kernel};
    }
    DriverPool& pool = pools[{system.tag, kernel}];
    if (pool.nodes.is_null()) {
      pool.nodes = SelectorOf(name, selection, deploy, labels, system);
      pool.system = std::move(system);
    }
    if (ValueOf(labels, deploy) == "true") {
      ++pool.labelled;
      const Taint* taint = Untolerated(facts->taints, driver.tolerations);
      pool.expected += taint == nullptr ? 1 : 0;
      if (taint != nullptr && IsToBeTolerated(*taint)) {
        split.untolerated.push_back(UntoleratedText(node, *taint));
      }
    }
  }
  for (auto& [key, pool] : pools) {
    split.pools.push_back(std::move(pool));
  }
  std::ranges::sort(split.silent);
  std::ranges::sort(split.unmarked);
  std::ranges::sort(split.untolerated);
  return split;
}

}  // namespace gantry::gpu_operator
