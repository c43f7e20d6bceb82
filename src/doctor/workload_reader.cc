// SPDX-License-Identifier: Apache-2.0
// Which pods with GPUs do not run? Warnings name candidates; their objects are read again, since an
// event may be an hour old. Only what still holds is a fact.
#include "doctor/workload_reader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "doctor/claim_findings.h"
#include "doctor/controller_facts.h"
#include "doctor/object_fields.h"
#include "doctor/pod_facts.h"
#include "doctor/refusal_findings.h"
#include "doctor/workload_findings.h"

namespace gantry::doctor {
namespace {

// Of a thousand pods with one cause, a few are enough.
constexpr size_t kMostPods = 50;

std::optional<kube::Kind> ControllerKind(std::string_view kind) {
  for (const kube::Kind& each : {kube::kinds::kReplicaSet, kube::kinds::kJob,
                                 kube::kinds::kStatefulSet, kube::kinds::kDaemonSet}) {
    if (each.kind == kind) {
      return each;
    }
  }
  return std::nullopt;
}

}  // namespace

bool WorkloadReader::IsWorkload(const kube::Key& pod) const {
  return IsAskedFor(pod) && (pod.ns != OperatorNamespace(cluster_) || guests_.contains(pod));
}

Status WorkloadReader::ReadLog(ContainerFacts& container) {
  return parts_.Take("logs", logs_.Read(container, logs_asked_));
}

Status WorkloadReader::ReadPending() {
  const kube::Selection waiting{.ns = ns_, .fields = "status.phase=Pending,spec.nodeName="};
  return parts_.Take("pending pods",
                     parts_.List(kube::kinds::kPod, waiting, [this](const Json& pod) {
                       PodFacts facts = PodFrom(pod);
                       if (!facts.wants.empty() || (facts.claims && IsByClaims(cluster_))) {
                         cluster_.pending.push_back(std::move(facts));
                       }
                     }));
}

// As cluster-autoscaler and Karpenter report it on the pods themselves.
Status WorkloadReader::ReadScaleUps() {
  if (cluster_.pending.empty() || IsUnread(cluster_, kEventsPart)) {
    return {};
  }
  std::map<kube::Key, std::string> newest;
  for (const char* reason : {"TriggeredScaleUp", "Nominated"}) {
    const kube::Selection told{.ns = ns_,
                               .fields = format("involvedObject.kind=Pod,reason={}", reason)};
    TRY(parts_.Take(kEventsPart,
                    parts_.List(kube::kinds::kEvent, told, [&newest](const Json& event) {
                      std::string& at = newest[{TextAt(event, "involvedObject.namespace"),
                                                TextAt(event, "involvedObject.name")}];
                      at = std::max(at, LastSeen(event));
                    })));
  }
  for (PodFacts& pod : cluster_.pending) {
    if (const auto at = newest.find({pod.ns, pod.name}); at != newest.end()) {
      pod.scaled_at = at->second;
    }
  }
  return {};
}

Status WorkloadReader::ReadFailed() {
  const kube::Selection failed{.ns = ns_, .fields = "status.phase=Failed"};
  TRY(parts_.Take("failed pods", parts_.List(kube::kinds::kPod, failed, [this](const Json& pod) {
    if (std::optional<RejectionFacts> rejection = RejectionFrom(pod)) {
      cluster_.rejections.push_back(*std::move(rejection));
      return;
    }
    if (!PodWants(pod).empty()) {
      KeepRuns(pod);
    }
  })));
  size_t asked = 0;
  for (auto& [owner, failed_runs] : failed_) {
    if (++asked > kMostPods || IsDone(failed_runs)) {
      failed_runs.runs.clear();
    }
    TRY(AddRun(failed_runs, 0));
  }
  return {};
}

void WorkloadReader::KeepRuns(const Json& pod) {
  const kube::Key key = kube::KeyOf(pod);
  const std::string owner = OwnerOf(pod);
  std::optional<kube::Key> job;
  if (const Json* controller = ControllerOf(pod);
      controller != nullptr && TextAt(*controller, "apiVersion").starts_with("batch/")) {
    job = kube::Key{key.ns, TextAt(*controller, "name")};
  }
  for (ContainerFacts& container : TroubledContainers(pod)) {
    if (FailsNow(container, cluster_.now)) {
      FailedFacts& failed = failed_[owner.empty() ? "Pod " + key.Text() : owner];
      failed.job = job;
      KeepTelling(failed.runs, std::move(container));
    }
  }
}

// Failures of a Job that succeeded are no problem.
bool WorkloadReader::IsDone(const FailedFacts& failed) const {
  if (!failed.job) {
    return false;
  }
  const Result<Json> object = parts_.client().Get(kube::kinds::kJob, *failed.job);
  return object.has_value() ? HasSucceeded(*object) : object.error().kind == ErrorKind::kNotFound;
}

Status WorkloadReader::AddRun(FailedFacts& failed, size_t index) {
  if (failed.told || index >= failed.runs.size()) {
    return {};
  }
  ContainerFacts& run = failed.runs[index];
  TRY(ReadLog(run));
  failed.told = SaysWhy(cluster_, run);
  if (failed.told) {
    cluster_.workload_containers.push_back(std::move(run));
  }
  return {};
}

Status WorkloadReader::AddEarlierRuns() {
  for (size_t i = 1; i < kMostRuns; ++i) {
    for (auto& [owner, failed] : failed_) {
      TRY(AddRun(failed, i));
    }
  }
  return {};
}

// Many messages do not say whether pods request GPUs, and many pods may not.
Status WorkloadReader::AddRefusals() {
  size_t asked = 0;
  for (const auto& [involved, told] : warnings_.refused()) {
    const bool of_gpus = ExamineRefusal({.object = "", .message = told.message}).has_value();
    if (of_gpus || involved.key.ns == OperatorNamespace(cluster_) || ++asked <= kMostPods) {
      TRY(AddRefusal(involved, told));
    }
  }
  return {};
}

// The workload that a user knows: a ReplicaSet's Deployment, a Job's CronJob. Nothing if the object
// was deleted or has its pods by now.
Status WorkloadReader::AddRefusal(const Involved& involved, const Told& told) {
  const std::string itself = involved.kind + " " + involved.key.Text();
  const bool in_namespace = involved.key.ns == OperatorNamespace(cluster_);
  const std::optional<kube::Kind> kind = ControllerKind(involved.kind);
  const Result<Json> object =
      kind ? parts_.client().Get(*kind, involved.key)
           : Result<Json>(
                 Fail(ErrorKind::kUnsupported, "get " + involved.kind + ": kind not supported"));
  if (object.has_value()) {
    const bool operand = in_namespace && IsOperandController(cluster_, *object);
    // A Job without pods may wait before a retry, for another reason.
    const bool now = involved.kind != "Job" || IsFresh(told, cluster_.now);
    if (now && LacksPods(*object) && (operand || IsAskedFor(involved.key))) {
      const std::string owner = OwnerOf(*object);
      // The policy owns an operand's DaemonSet, but says less.
      const bool itself_known = owner.empty() || (operand && involved.kind == "DaemonSet");
      const Json* pods = At(*object, "spec.template");
      cluster_.refusals.push_back({.object = itself_known ? itself : owner,
                                   .message = told.message,
                                   .operand = operand,
                                   .wants_gpus = pods != nullptr && !PodWants(*pods).empty()});
    }
    return {};
  }
  switch (object.error().kind) {
    case ErrorKind::kNotFound:
      return {};
    case ErrorKind::kUnsupported:
    case ErrorKind::kDenied:
      if (IsFresh(told, cluster_.now)) {
        cluster_.refusals.push_back(
            {.object = itself, .message = told.message, .operand = in_namespace});
      }
      return {};
    default:
      return std::unexpected(object.error());
  }
}

// Operands' containers report it themselves.
Status WorkloadReader::AddStarts() {
  size_t asked = 0;
  for (const auto& [key, told] : warnings_.unstarted()) {
    if (!IsWorkload(key)) {
      continue;
    }
    if (++asked > kMostPods) {
      break;
    }
    const Result<Json> pod = parts_.client().Get(kube::kinds::kPod, key);
    if (pod.has_value() && IsStarting(*pod)) {
      cluster_.starts.push_back({.object = "pod " + key.Text(),
                                 .node = TextAt(*pod, "spec.nodeName"),
                                 .message = told.message,
                                 .wants_gpus = !PodWants(*pod).empty()});
    }
    TRY(parts_.Take("pod " + key.Text(), StatusOf(pod)));
  }
  return {};
}

Status WorkloadReader::AddRestarting() {
  size_t asked = 0;
  for (const kube::Key& key : warnings_.restarting()) {
    if (!IsWorkload(key)) {
      continue;
    }
    if (++asked > kMostPods) {
      break;
    }
    const Result<Json> pod = parts_.client().Get(kube::kinds::kPod, key);
    TRY(parts_.Take("pod " + key.Text(), StatusOf(pod)));
    if (!pod.has_value() || PodWants(*pod).empty()) {
      continue;
    }
    for (ContainerFacts& container : TroubledContainers(*pod)) {
      if (FailsNow(container, cluster_.now)) {
        TRY(ReadLog(container));
        cluster_.workload_containers.push_back(std::move(container));
      }
    }
  }
  return {};
}

}  // namespace gantry::doctor
