// SPDX-License-Identifier: Apache-2.0
// Which containers of a pod do not run as they should, and what does the kubelet report on them?
// Pure: JSON in, structs out. A container that was killed once and runs again is not a finding,
// unless it was OOM-killed: that will happen again.
#include "doctor/container_facts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "doctor/object_fields.h"

namespace gantry::doctor {
namespace {

constexpr char kBackOff[] = "CrashLoopBackOff";
// The kubelet's reason for all containers of a pod with init containers, also for the current one.
constexpr char kInitializing[] = "PodInitializing";

// NVIDIA's resources are whole numbers; a quantity may still be a string ("8") or have a suffix.
long long Whole(const Json& quantity) {
  if (quantity.is_number_integer()) {
    return quantity.get<long long>();
  }
  if (!quantity.is_string()) {
    return 0;
  }
  const std::string text = quantity.get<std::string>();
  if (text.ends_with("k")) {
    return ParseInt(text.substr(0, text.size() - 1)).value_or(0) * 1000;
  }
  return ParseInt(text).value_or(0);
}

// NVIDIA's network operator and its examples name network cards so.
bool IsOfNetworks(std::string_view resource) {
  static constexpr std::array<std::string_view, 4> kNames = {"hostdev", "mlnx", "rdma", "sriov"};
  const std::string_view name = resource.substr(resource.find('/') + 1);
  return std::ranges::any_of(kNames,
                             [name](std::string_view each) { return name.starts_with(each); });
}

// A container's requests, and limits without requests.
GpuCounts ContainerWants(const Json& container) {
  GpuCounts wants = GpusIn(At(container, "resources.requests"));
  for (const auto& [name, count] : GpusIn(At(container, "resources.limits"))) {
    wants.emplace(name, count);
  }
  return wants;
}

// The container's part of the pod's spec; null if there is none.
Json SpecOf(const Json& pod, const char* containers, const std::string& name) {
  for (const Json& container : ListAt(pod, containers)) {
    if (TextAt(container, "name") == name) {
      return container;
    }
  }
  return nullptr;
}

// By SIGTERM or SIGKILL, as at the end of a pod.
bool WasKilled(const ContainerFacts& container) {
  return container.exit_code == 143 || container.exit_code == 137;
}

void NoteCreation(const Json& pod, ContainerFacts& facts) {
  if (facts.waiting == kContainerCreating) {
    facts.since = TextAt(pod, "status.startTime");
  }
}

bool IsTroubled(const ContainerFacts& facts) {
  const bool failed = facts.exit_code != 0 || facts.ended == "OOMKilled";
  return (!facts.waiting.empty() && facts.waiting != kInitializing) || failed ||
         (facts.init && !facts.since.empty());
}

ContainerFacts FactsOf(const Json& pod, const Json& status) {
  ContainerFacts facts;
  facts.ns = TextAt(pod, "metadata.namespace");
  facts.pod = TextAt(pod, "metadata.name");
  const Json* controller = ControllerOf(pod);
  facts.app = controller != nullptr && TextAt(*controller, "kind") == "DaemonSet"
                  ? TextAt(*controller, "name")
                  : TextAt(pod, "metadata.labels.app");
  facts.node = TextAt(pod, "spec.nodeName");
  facts.container = TextAt(status, "name");
  facts.image = TextAt(status, "image");
  facts.ready = BoolAt(status, "ready", false);
  facts.waiting = TextAt(status, "state.waiting.reason");
  facts.message = TextAt(status, "state.waiting.message");
  facts.restarts = IntAt(status, "restartCount", 0);
  facts.over = At(status, "state.terminated") != nullptr;
  const char* last = facts.over ? "state" : "lastState";
  facts.ended = TextAt(status, format("{}.terminated.reason", last));
  facts.ended_at = TextAt(status, format("{}.terminated.finishedAt", last));
  facts.last_words = TextAt(status, format("{}.terminated.message", last));
  facts.exit_code = IntAt(status, format("{}.terminated.exitCode", last), 0);
  return facts;
}

}  // namespace

long long SumOf(const GpuCounts& counts) {
  long long sum = 0;
  for (const auto& [resource, count] : counts) {
    sum += count;
  }
  return sum;
}

GpuCounts GpusIn(const Json* resources) {
  GpuCounts counts;
  if (resources != nullptr && resources->is_object()) {
    for (const auto& [name, quantity] : resources->items()) {
      if (name.starts_with("nvidia.com/") && !IsOfNetworks(name)) {
        counts[name] = Whole(quantity);
      }
    }
  }
  return counts;
}

bool NeverRan(const ContainerFacts& container) {
  return container.ended == "StartError" || container.ended == "ContainerCannotRun";
}

bool EndsAgain(const ContainerFacts& container, WallTime now) {
  // Runs that ended with their node ("Unknown") did not fail.
  const bool failed = container.restarts > 0 && container.exit_code != 0 && !NeverRan(container) &&
                      container.ended != "Unknown" && container.ended_at > Rfc3339(now - kRecent);
  return container.waiting == kBackOff || (container.waiting.empty() && !container.ready && failed);
}

bool FailsNow(const ContainerFacts& container, WallTime now) {
  return container.waiting == kBackOff ||
         (container.exit_code != 0 && container.ended_at > Rfc3339(now - kRecent));
}

void KeepTelling(std::vector<ContainerFacts>& runs, ContainerFacts run) {
  const auto tells_more = [](const ContainerFacts& a, const ContainerFacts& b) {
    return std::pair(!WasKilled(a), std::string_view(a.ended_at)) >
           std::pair(!WasKilled(b), std::string_view(b.ended_at));
  };
  const auto place = std::ranges::upper_bound(runs, run, tells_more);
  runs.insert(place, std::move(run));
  runs.resize(std::min(runs.size(), kMostRuns));
}

// As the scheduler counts: all containers and sidecars together, or one init container that
// requests more with the sidecars before it.
GpuCounts PodWants(const Json& pod) {
  GpuCounts wants;
  GpuCounts side_cars;
  GpuCounts most;
  for (const Json& container : ListAt(pod, "spec.initContainers")) {
    const bool side_car = TextAt(container, "restartPolicy") == "Always";
    for (const auto& [name, count] : ContainerWants(container)) {
      most[name] = std::max(most[name], side_cars[name] + count);
      side_cars[name] += side_car ? count : 0;
    }
  }
  for (const Json& container : ListAt(pod, "spec.containers")) {
    for (const auto& [name, count] : ContainerWants(container)) {
      wants[name] += count;
    }
  }
  for (const auto& [name, count] : side_cars) {
    wants[name] = std::max(wants[name] + count, most[name]);
  }
  std::erase_if(wants, [](const auto& each) { return each.second == 0; });
  return wants;
}

std::vector<ContainerFacts> TroubledContainers(const Json& pod) {
  std::vector<ContainerFacts> troubled;
  if (At(pod, "metadata.deletionTimestamp") != nullptr) {
    return troubled;
  }
  bool first = true;
  for (const Json& status : ListAt(pod, "status.initContainerStatuses")) {
    ContainerFacts facts = FactsOf(pod, status);
    facts.init = true;
    if (std::exchange(first, false) && facts.waiting == kInitializing) {
      facts.waiting = kContainerCreating;
    }
    const Json spec = SpecOf(pod, "spec.initContainers", facts.container);
    facts.memory_limit = TextAt(spec, "resources.limits.memory");
    // A sidecar is an init container that keeps running.
    if (TextAt(spec, "restartPolicy") != "Always") {
      facts.since = TextAt(status, "state.running.startedAt");
    }
    NoteCreation(pod, facts);
    if (IsTroubled(facts)) {
      troubled.push_back(std::move(facts));
    }
  }
  for (const Json& status : ListAt(pod, "status.containerStatuses")) {
    ContainerFacts facts = FactsOf(pod, status);
    const Json spec = SpecOf(pod, "spec.containers", facts.container);
    facts.memory_limit = TextAt(spec, "resources.limits.memory");
    NoteCreation(pod, facts);
    if (IsTroubled(facts)) {
      troubled.push_back(std::move(facts));
    }
  }
  return troubled;
}

}  // namespace gantry::doctor
