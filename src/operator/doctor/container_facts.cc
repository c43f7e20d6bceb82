// SPDX-License-Identifier: Apache-2.0
// Which containers of a pod do not run as they should, and what did the kubelet say of them? Pure:
// JSON in, structs out. A container that was ended once and runs again is no trouble, unless it was
// ended for want of memory: it will be again.
#include "operator/doctor/container_facts.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace gantry::doctor {
namespace {

constexpr std::chrono::minutes kRecent(60);

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

// What a container asks for: requests, and limits where they stand alone.
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

bool IsTroubled(const ContainerFacts& facts) {
  const bool failed = facts.exit_code != 0 || facts.ended == "OOMKilled";
  return (!facts.waiting.empty() && facts.waiting != "PodInitializing") || failed ||
         (facts.init && !facts.since.empty());
}

ContainerFacts FactsOf(const Json& pod, const Json& status) {
  ContainerFacts facts;
  facts.space = TextAt(pod, "metadata.namespace");
  facts.pod = TextAt(pod, "metadata.name");
  facts.app = TextAt(pod, "metadata.labels.app");
  facts.node = TextAt(pod, "spec.nodeName");
  facts.container = TextAt(status, "name");
  facts.image = TextAt(status, "image");
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

GpuCounts GpusIn(const Json* resources) {
  GpuCounts counts;
  if (resources != nullptr && resources->is_object()) {
    for (const auto& [name, quantity] : resources->items()) {
      if (name.starts_with("nvidia.com/")) {
        counts[name] = Whole(quantity);
      }
    }
  }
  return counts;
}

bool FailsNow(const ContainerFacts& container, WallTime now) {
  return container.waiting == "CrashLoopBackOff" ||
         (container.exit_code != 0 && container.ended_at > Rfc3339(now - kRecent));
}

// As the scheduler counts: all containers together, or one init container that wants more.
GpuCounts PodWants(const Json& pod) {
  GpuCounts wants;
  for (const Json& container : ListAt(pod, "spec.containers")) {
    for (const auto& [name, count] : ContainerWants(container)) {
      wants[name] += count;
    }
  }
  for (const Json& container : ListAt(pod, "spec.initContainers")) {
    for (const auto& [name, count] : ContainerWants(container)) {
      wants[name] = std::max(wants[name], count);
    }
  }
  std::erase_if(wants, [](const auto& each) { return each.second == 0; });
  return wants;
}

std::vector<ContainerFacts> TroubledContainers(const Json& pod) {
  std::vector<ContainerFacts> troubled;
  if (At(pod, "metadata.deletionTimestamp") != nullptr) {
    return troubled;
  }
  for (const Json& status : ListAt(pod, "status.initContainerStatuses")) {
    ContainerFacts facts = FactsOf(pod, status);
    facts.init = true;
    const Json spec = SpecOf(pod, "spec.initContainers", facts.container);
    facts.memory_limit = TextAt(spec, "resources.limits.memory");
    // A side car is an init container that runs for ever.
    if (TextAt(spec, "restartPolicy") != "Always") {
      facts.since = TextAt(status, "state.running.startedAt");
    }
    if (IsTroubled(facts)) {
      troubled.push_back(std::move(facts));
    }
  }
  for (const Json& status : ListAt(pod, "status.containerStatuses")) {
    ContainerFacts facts = FactsOf(pod, status);
    const Json spec = SpecOf(pod, "spec.containers", facts.container);
    facts.memory_limit = TextAt(spec, "resources.limits.memory");
    if (facts.waiting == "ContainerCreating") {
      facts.since = TextAt(pod, "status.startTime");
    }
    if (IsTroubled(facts)) {
      troubled.push_back(std::move(facts));
    }
  }
  return troubled;
}

}  // namespace gantry::doctor
