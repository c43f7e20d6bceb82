// SPDX-License-Identifier: Apache-2.0
// Why does the API server reject pods? From its own messages (validation of non-overcommitable
// resources, quota, LimitRange), those of admission and of controllers' events.
#include "doctor/refusal_findings.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "doctor/remedy_fields.h"

namespace gantry::doctor {
namespace {

struct Refuser {
  std::string_view words;
  const char* remedy;       // of an operand
  const char* of_workload;  // of pods with GPUs
};

constexpr char kExempt[] = "exempt the operator's namespace from that policy";
constexpr char kObey[] =
    "change its pod template as the message says, or exempt its namespace from that policy";
constexpr char kQuota[] = "raise the ResourceQuota of the namespace";
constexpr char kOwnQuota[] = "raise the ResourceQuota of its namespace, or end other pods in it";
constexpr char kLimits[] =
    "set resources of its section, or change the namespace's ResourceQuota or LimitRange";
constexpr char kOwnLimits[] =
    "set the resources of its pod template, or change the ResourceQuota or LimitRange of its "
    "namespace";
constexpr char kConstraint[] =
    "let its ServiceAccount use a SecurityContextConstraint that allows what the message names";
constexpr char kChange[] = "change what refuses them";

constexpr std::array kRefusers = std::to_array<Refuser>({
    {"denied the request", kExempt, kObey},
    {"denied request", kExempt, kObey},
    {"exceeded quota", kQuota, kOwnQuota},
    {"failed quota", kLimits, kOwnLimits},
    {" usage per ", kLimits, kOwnLimits},
    {"security context constraint", kConstraint, kConstraint},
    {"violates PodSecurity", kChange,
     "change its pod template as the message says, or label its namespace "
     "pod-security.kubernetes.io/enforce with a level that allows it"},
    {"error looking up service account", kChange,
     "create that ServiceAccount, or correct serviceAccountName of its pod template"},
    {"failed calling webhook", kChange, "fix that webhook, or exempt its namespace from it"},
    {"", kChange, kChange},
});

// In the API server's own words.
Finding Refused(const RefusalFacts& refusal) {
  constexpr std::string_view kController = "Error creating: ";
  const bool prefixed = refusal.message.starts_with(kController);
  const auto refuser = std::ranges::find_if(kRefusers, [&refusal](const Refuser& each) {
    return refusal.message.find(each.words) != std::string::npos;
  });
  return Problem(
      "PodsRefused", refusal.object,
      "its pods are refused: " + refusal.message.substr(prefixed ? kController.size() : size_t{0}),
      refusal.operand ? refuser->remedy : refuser->of_workload);
}

// Messages about GPUs, for any pod.
std::optional<Finding> RefusedGpus(const RefusalFacts& refusal) {
  const auto says = [&refusal](std::string_view words) {
    return refusal.message.find(words) != std::string::npos;
  };
  if (refusal.message.find("Limit must be set for non overcommitable resources") !=
      std::string::npos) {
    return Problem("LimitsMissing", refusal.object,
                   "its pods are refused: a container has requests for a GPU without limits",
                   "set resources.limits for nvidia.com/gpu in its pod template, or `default` as "
                   "well as `defaultRequest` in the namespace's LimitRange");
  }
  // "resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2",
  // "resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer"
  if (says("must be equal to nvidia.com/") ||
      (says("[nvidia.com/") && says("must be an integer"))) {
    return Problem("LimitsInvalid", refusal.object, "its pods are refused: " + refusal.message,
                   "set the same integer in resources.requests and resources.limits");
  }
  if (refusal.message.find("exceeded quota") != std::string::npos &&
      refusal.message.find("nvidia.com/") != std::string::npos) {
    return Problem(
        "QuotaExceeded", refusal.object,
        "its pods are refused: " + refusal.message.substr(refusal.message.find("exceeded quota")),
        "raise the ResourceQuota of the namespace, or end other pods in it");
  }
  // "maximum nvidia.com/gpu usage per Container is 1, but limit is 2"
  if (refusal.message.find("nvidia.com/") != std::string::npos &&
      refusal.message.find(" usage per ") != std::string::npos) {
    return Problem("QuotaExceeded", refusal.object, "its pods are refused: " + refusal.message,
                   "raise the LimitRange of the namespace, or request less");
  }
  if ((says("RuntimeClass \"nvidia") || (refusal.wants_gpus && says("RuntimeClass \""))) &&
      says("not found")) {
    return Problem(
        "RuntimeClassMissing", refusal.object,
        "its pods are refused: " + refusal.message.substr(refusal.message.find("RuntimeClass \"")),
        "correct runtimeClassName, remove it (CDI needs none), or set operator.runtimeClass to "
        "that name");
  }
  return std::nullopt;
}

Finding RefusedOperand(const RefusalFacts& refusal) {
  const auto says = [&refusal](std::string_view words) {
    return refusal.message.find(words) != std::string::npos;
  };
  if (says("violates PodSecurity")) {
    return Problem("PodSecurityForbids", refusal.object,
                   "its pods are refused: its namespace allows no privileged pods",
                   "set psa.enabled=true, or label the namespace "
                   "pod-security.kubernetes.io/enforce=privileged");
  }
  if (says("insufficient quota to match these scopes")) {
    return Problem(
        "PriorityQuotaMissing", refusal.object,
        "its pods are refused: its namespace has no quota for pods of its priority class",
        "create a ResourceQuota with that scope in the namespace, or set "
        "daemonsets.priorityClassName");
  }
  if (const size_t webhook = refusal.message.find("failed calling webhook");
      webhook != std::string::npos) {
    return Problem("WebhookFails", refusal.object,
                   "its pods are refused: " + refusal.message.substr(webhook),
                   "fix that webhook, or exempt the operator's namespace from it");
  }
  return Refused(refusal);
}

}  // namespace

// In a namespace that is being deleted, missing pods are no problem.
std::optional<Finding> ExamineRefusal(const RefusalFacts& refusal) {
  if (std::optional<Finding> finding = RefusedGpus(refusal)) {
    finding->explains = refusal.object;
    return finding;
  }
  if (refusal.operand) {
    Finding finding = RefusedOperand(refusal);
    finding.explains = refusal.object;
    // All operands have DaemonSets.
    if (refusal.object.starts_with("Deployment ")) {
      finding.remedy = ForOperator(std::move(finding.remedy));
    }
    return finding;
  }
  const bool ends = refusal.message.find("because it is being terminated") != std::string::npos;
  return refusal.wants_gpus && !ends ? std::optional(Refused(refusal)) : std::nullopt;
}

}  // namespace gantry::doctor
