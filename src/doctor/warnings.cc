// SPDX-License-Identifier: Apache-2.0
// What do the warnings among a cluster's events say, and about which objects?
#include "doctor/warnings.h"

#include <chrono>

#include "base/text.h"
#include "doctor/pod_facts.h"
#include "doctor/refusal_findings.h"
#include "doctor/start_findings.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

// Older warnings about objects whose state the doctor cannot read are outdated.
constexpr std::chrono::minutes kFresh(30);

void KeepNewest(Told& kept, Told told) {
  if (told.last_seen >= kept.last_seen) {
    kept = std::move(told);
  }
}

}  // namespace

bool IsFresh(const Told& told, WallTime now) { return told.last_seen > Rfc3339(now - kFresh); }

void Warnings::Take(const Json& event, bool in_operators_namespace) {
  const std::string kind = TextAt(event, "involvedObject.kind");
  const std::string reason = TextAt(event, "reason");
  const kube::Key key{TextAt(event, "involvedObject.namespace"),
                      TextAt(event, "involvedObject.name")};
  Told told{MessageOf(event), LastSeen(event)};
  if (kind == "Node") {
    KeepNewest(of_nodes_[{key.name, reason}], std::move(told));
  } else if (kind == "Pod") {
    if (StartFailure(told.message, true)) {
      KeepNewest(unstarted_[key], std::move(told));
    } else if (in_operators_namespace && told.message.starts_with("Failed to pull image")) {
      KeepNewest(pulls_[key], std::move(told));
    } else if (in_operators_namespace && told.message.starts_with("MountVolume")) {
      KeepNewest(mounts_[key], std::move(told));
    } else if (in_operators_namespace && reason == "FailedToRetrieveImagePullSecret") {
      KeepNewest(secrets_[key], std::move(told));
    } else if (reason == "BackOff") {
      restarting_.insert(key);
    }
  } else if (in_operators_namespace ? reason == "FailedCreate"
                                    : ExamineRefusal({.object = "",
                                                      .message = told.message,
                                                      .wants_gpus = reason == "FailedCreate"})
                                          .has_value()) {
    KeepNewest(refused_[{kind, key}], std::move(told));
  }
}

void Warnings::Explain(NodeFacts& node) const {
  const auto verdict = of_nodes_.find({node.name, ValueOf(node, names::kGpuValidation)});
  if (verdict != of_nodes_.end()) {
    node.validator_says = verdict->second.message;
  }
  Told newest;
  for (const reasons::Reason& reason :
       {reasons::kGpuNotOffered, reasons::kInvalidDevicePluginConfig,
        reasons::kCdiDocumentNotWritten, reasons::kNvmlNotUsable}) {
    const auto told = of_nodes_.find({node.name, reason.code});
    if (told != of_nodes_.end() && told->second.last_seen >= newest.last_seen) {
      newest = told->second;
      node.not_offered = newest.message;
      node.not_offered_for = reason.code;
    }
  }
}

void Warnings::Explain(const Json& pod, ContainerFacts& container, WallTime now) const {
  const kube::Key key = kube::KeyOf(pod);
  const auto pull = pulls_.find(key);
  if (pull != pulls_.end() && container.message.ends_with('"') &&
      pull->second.message.find('"' + container.image + '"') != std::string::npos) {
    container.message += ": " + pull->second.message;
  }
  if (const auto secrets = secrets_.find(key);
      secrets != secrets_.end() && IsFresh(secrets->second, now)) {
    container.lacks_secrets = secrets->second.message;
  }
  if (!container.message.empty() || !IsStarting(pod)) {
    return;
  }
  for (const auto* told : {&mounts_, &unstarted_}) {
    if (const auto at = told->find(key); at != told->end()) {
      container.message = at->second.message;
    }
  }
}

}  // namespace gantry::doctor
