// SPDX-License-Identifier: Apache-2.0
// What does a pod request, and how far has its start come?
#include "doctor/pod_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "doctor/object_fields.h"
#include "kube/object.h"

namespace gantry::doctor {
namespace {

// When its status was last written, normally by the kubelet; empty: unknown.
std::string StatusWrittenAt(const Json& object) {
  std::string at;
  for (const Json& entry : ListAt(object, "metadata.managedFields")) {
    if (TextAt(entry, "subresource") == "status") {
      at = std::max(at, TextAt(entry, "time"));
    }
  }
  return at;
}

// The kubelet's message if its runtime failed: containerd has created the container by then and
// ends it with StartError, CRI-O has not.
bool CouldNotStart(const Json& status) {
  static constexpr std::array<std::string_view, 4> kReasons = {
      "StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError"};
  return std::ranges::any_of(kReasons, [&status](std::string_view reason) {
    return TextAt(status, "state.waiting.reason") == reason ||
           TextAt(status, "state.terminated.reason") == reason ||
           (At(status, "state.waiting") != nullptr &&
            TextAt(status, "lastState.terminated.reason") == reason);
  });
}

}  // namespace

PodFacts PodFrom(const Json& pod) {
  PodFacts facts;
  facts.ns = TextAt(pod, "metadata.namespace");
  facts.name = TextAt(pod, "metadata.name");
  facts.made_at = TextAt(pod, "metadata.creationTimestamp");
  facts.owner = OwnerOf(pod);
  facts.wants = PodWants(pod);
  for (const Json& each : ListAt(pod, "spec.tolerations")) {
    facts.tolerations.push_back({.key = TextAt(each, "key"),
                                 .exists = TextAt(each, "operator") == "Exists",
                                 .value = TextAt(each, "value"),
                                 .effect = TextAt(each, "effect")});
  }
  facts.choice = ChoiceOf(pod, "spec");
  facts.gated = !ListAt(pod, "spec.schedulingGates").empty();
  facts.claims = !ListAt(pod, "spec.resourceClaims").empty();
  // For a pod whose claims do not exist yet it says nothing.
  if (!facts.claims) {
    facts.unseen_by = TextAt(pod, "spec.schedulerName", "default-scheduler");
  }
  for (const Condition& condition : ConditionsOf(pod)) {
    if (condition.type == "PodScheduled") {
      facts.scheduler = condition.holds ? "" : condition.message;
      facts.unseen_by.clear();
    }
  }
  return facts;
}

std::string BegunAt(const Json& pod) {
  std::string begun = TextAt(pod, "metadata.creationTimestamp");
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      begun = std::max(begun, TextAt(status, "state.running.startedAt"));
    }
  }
  return begun;
}

std::string UnreadySince(const Json& pod) {
  const bool ready = std::ranges::any_of(ConditionsOf(pod), [](const Condition& condition) {
    return condition.type == "Ready" && condition.holds;
  });
  const std::string deleted = TextAt(pod, "metadata.deletionTimestamp");
  return ready ? "" : deleted.empty() ? BegunAt(pod) : deleted;
}

std::optional<RejectionFacts> RejectionFrom(const Json& pod) {
  const std::string reason = TextAt(pod, "status.reason");
  const bool admission = reason == "UnexpectedAdmissionError" ||
                         reason == "TopologyAffinityError" || reason.starts_with("OutOfnvidia");
  if (TextAt(pod, "status.phase") != "Failed" || !admission || PodWants(pod).empty()) {
    return std::nullopt;
  }
  // A pod that ran and was rejected after a restart of the kubelet keeps its first start time.
  const std::string start =
      TextAt(pod, "status.startTime", TextAt(pod, "metadata.creationTimestamp"));
  return RejectionFacts{.object = "pod " + kube::KeyOf(pod).Text(),
                        .owner = OwnerOf(pod),
                        .node = TextAt(pod, "spec.nodeName"),
                        .message = TextAt(pod, "status.message", reason),
                        .at = std::max(start, StatusWrittenAt(pod))};
}

bool IsStarting(const Json& pod) {
  if (At(pod, "metadata.deletionTimestamp") != nullptr) {
    return false;
  }
  bool sandbox = std::ranges::any_of(ConditionsOf(pod), [](const Condition& condition) {
    return condition.type == "PodReadyToStartContainers" && condition.holds;
  });
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const Json& status : ListAt(pod, list)) {
      if (CouldNotStart(status)) {
        return true;
      }
      sandbox = sandbox || !TextAt(status, "containerID").empty();
    }
  }
  return TextAt(pod, "status.phase") == "Pending" && !sandbox;
}

}  // namespace gantry::doctor
