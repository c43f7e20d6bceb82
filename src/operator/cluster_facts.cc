// SPDX-License-Identifier: Apache-2.0

// What do all nodes together say? Counts of nodes on which a DaemonSet should have a pod are made
// here as the DaemonSet controller makes them (label and taints), so that a DaemonSet that has not
// been looked at yet, with 0 pods desired, is told from one that has nothing to do.

#include "operator/cluster_facts.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "operator/node_labels.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kConditions = "node.kubernetes.io/";

// Added to every DaemonSet pod by its controller. (not-ready and unreachable only as NoExecute: a
// pod stays on such a node, and none is started there.)
bool IsToleratedByController(const Taint& taint) {
  static constexpr std::array kNoExecute = {"not-ready", "unreachable"};
  static constexpr std::array kNoSchedule = {"disk-pressure", "memory-pressure", "pid-pressure",
                                             "unschedulable"};
  if (!taint.key.starts_with(kConditions)) {
    return false;
  }
  const std::string_view name = std::string_view(taint.key).substr(kConditions.size());
  const auto is = [&](const char* known) { return name == known; };
  return taint.effect == "NoExecute" ? std::ranges::any_of(kNoExecute, is)
                                     : std::ranges::any_of(kNoSchedule, is);
}

bool Tolerates(const Json& toleration, const Taint& taint) {
  const std::string effect = TextAt(toleration, "effect");
  const std::string key = TextAt(toleration, "key");
  if ((!effect.empty() && effect != taint.effect) || (!key.empty() && key != taint.key)) {
    return false;
  }
  if (TextAt(toleration, "operator", "Equal") == "Exists") {
    return true;
  }
  return !key.empty() && TextAt(toleration, "value") == taint.value;
}

std::string RuntimeName(const std::map<std::string, int, std::less<>>& seen) {
  if (seen.empty() || seen.contains("containerd")) {
    return "containerd";
  }
  return seen.contains("cri-o") ? "crio" : "docker";
}

// GPU nodes by what they run.
class Systems {
 public:
  void Add(const Labels& labels) {
    const std::string id = ValueOf(labels, names::kSystemId);
    const std::string version = ValueOf(labels, names::kSystemVersion);
    const std::string tag = SystemTag(id, version);
    if (tag.empty()) {
      return;
    }
    System& system = systems_[tag];
    system.id = id;
    ++system.nodes;
    if (const std::string kernel = ValueOf(labels, names::kKernelVersion); !kernel.empty()) {
      system.kernels.insert(kernel);
    }
  }
  // Of most nodes; the first by name of several.
  [[nodiscard]] SystemFacts Main() const {
    const auto found = std::ranges::max_element(
        systems_, {}, [](const auto& system) { return system.second.nodes; });
    if (found == systems_.end()) {
      return {};
    }
    const auto& [tag, system] = *found;
    return {system.id, tag, {system.kernels.begin(), system.kernels.end()}};
  }

 private:
  struct System {
    std::string id;
    int nodes = 0;
    std::set<std::string> kernels;
  };
  std::map<std::string, System> systems_;
};

}  // namespace

const Taint* Untolerated(const std::vector<Taint>& taints, const Json& tolerations) {
  for (const Taint& taint : taints) {
    const bool blocks = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    if (blocks && !IsToleratedByController(taint) &&
        !std::ranges::any_of(tolerations, [&](const Json& t) { return Tolerates(t, taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

std::string SystemTag(const std::string& id, const std::string& version) {
  if (id.empty() || version.empty()) {
    return "";
  }
  const std::string major = version.substr(0, version.find('.'));
  const bool by_major = id == "rocky" || id == "ol" || (id == "rhel" && major.size() > 1);
  return id + (by_major ? major : version);
}

ClusterFacts Summarize(const NamedNodes& nodes, const Json& tolerations) {
  ClusterFacts facts;
  std::map<std::string, int, std::less<>> runtimes;
  Systems systems;
  for (const auto& [name, node] : nodes) {
    ++facts.nodes;
    facts.described += node->described ? 1 : 0;
    facts.foreign_nfd |= node->foreign_nfd;
    if (!node->described && node->linux && node->ready) {
      facts.undescribed.push_back(name);
    }
    const Labels labels = UnpackLabels(node->labels);
    const auto present = labels.find(names::kGpuPresent);
    if (present == labels.end() || present->second != "true") {
      continue;
    }
    ++facts.gpu_nodes;
    systems.Add(labels);
    if (node->runtime == "containerd" || node->runtime == "cri-o" || node->runtime == "docker") {
      ++runtimes[node->runtime];
    }
    if (!node->ready) {
      facts.gpu_not_ready.push_back(name);
    }
    const auto validation = labels.find(names::kGpuValidation);
    if (node->ready && validation != labels.end() &&
        validation->second != names::kValidationReady) {
      facts.not_validated.push_back(format("{} ({})", name, validation->second));
    }
    const Taint* taint = Untolerated(node->taints, tolerations);
    // Kubernetes' own taints come and go with the node's condition; nobody need tolerate them.
    if (taint != nullptr && !taint->key.starts_with(kConditions)) {
      facts.untolerated.push_back(
          format("{}: {}={}:{}", name, taint->key, taint->value, taint->effect));
    }
    for (auto label = labels.lower_bound(names::kDeployPrefix);
         label != labels.end() && label->first.starts_with(names::kDeployPrefix); ++label) {
      if (label->second != "true") {
        continue;
      }
      const std::string suffix = label->first.substr(std::string_view(names::kDeployPrefix).size());
      const bool by_mps =
          suffix == "device-plugin" && ValueOf(labels, names::kMpsCapable) == "true";
      ++facts.labelled[suffix];
      facts.labelled["mps-control-daemon"] += by_mps ? 1 : 0;
      if (taint != nullptr) {
        continue;
      }
      ++facts.expected[suffix];
      facts.expected["mps-control-daemon"] += by_mps ? 1 : 0;
      if (suffix == "device-plugin" && node->ready && !node->gpu_resource) {
        facts.gpu_without_resource.push_back(name);
      }
    }
  }
  facts.runtime = RuntimeName(runtimes);
  facts.system = systems.Main();
  for (auto* list : {&facts.undescribed, &facts.gpu_not_ready, &facts.gpu_without_resource,
                     &facts.not_validated, &facts.untolerated}) {
    std::ranges::sort(*list);
  }
  return facts;
}

}  // namespace gantry::gpu_operator
