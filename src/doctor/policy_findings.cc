// SPDX-License-Identifier: Apache-2.0
// What is wrong with a policy: its fields, or that it is not ready? A policy that only waits for
// new or changing nodes or operands is no problem.
#include "doctor/policy_findings.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "doctor/remedies.h"
#include "policy/reasons.h"

namespace gantry::doctor {
namespace {

constexpr char kPolicyNotReady[] = "ClusterPolicyNotReady";
constexpr char kReadOperatorsLog[] = "read the operator's log";
// The time to pull an image and compile a driver; a longer wait has another cause.
constexpr std::chrono::minutes kPatience(20);

// Its state, and its own condition's message.
std::string WhyNot(const PolicyFacts& policy) {
  std::string why =
      policy.state.empty() ? "the operator has not reconciled it yet" : "is " + policy.state;
  for (const Condition& condition : policy.conditions) {
    if (condition.type == "Error" && condition.holds) {
      why += ": " + condition.reason + ": " + condition.message;
    }
  }
  return why;
}

// The operator runs, but missing rights or an error keep it from the latest change.
bool IsNotActedOn(const ClusterFacts& cluster, const PolicyFacts& policy) {
  constexpr std::chrono::minutes kSoon(1);
  const bool runs = std::ranges::any_of(cluster.operators, [&cluster](const OperatorFacts& each) {
    return each.available > 0 && !IsNew(cluster, each.since);
  });
  return runs && !policy.unseen_since.empty() && policy.unseen_since < Rfc3339(cluster.now - kSoon);
}

// The operator's condition names the nodes, each as "NODE: TAINTS".
Finding Untolerating(const ClusterFacts& cluster, const std::string& object,
                     const Condition& condition, const char* remedy) {
  Finding finding = Problem(reasons::kTaintNotTolerated, object, condition.message, remedy);
  for (const NodeFacts& node : cluster.nodes) {
    if ((" " + condition.message).find(format(" {}: ", node.name)) != std::string::npos) {
      finding.nodes.insert(node.name);
    }
  }
  return finding;
}

// A policy that is not ready, or an NVIDIADriver.
struct NotReadyPolicy {
  Finding finding;
  // Since when it waits for operands or nodes (RFC 3339; empty: unknown). Nothing: it does not
  // wait.
  std::optional<std::string> waits_since;
  bool follows_others = false;  // the other findings explain it
};

std::optional<std::string> WaitsSince(const ClusterFacts& cluster, const PolicyFacts& policy) {
  const auto why = std::ranges::find_if(policy.conditions, [](const Condition& condition) {
    return condition.type == "Error" && condition.holds &&
           (condition.reason == reasons::kOperandNotReady ||
            condition.reason == reasons::kNfdLabelsMissing ||
            condition.reason == reasons::kDriverNotReady);
  });
  return why == policy.conditions.end() || IsNotActedOn(cluster, policy)
             ? std::nullopt
             : std::optional(why->since);
}

std::optional<NotReadyPolicy> OfPolicy(const ClusterFacts& cluster, const PolicyFacts& policy) {
  if (policy.state != "ignored" && IsNotActedOn(cluster, policy)) {
    return NotReadyPolicy{
        .finding = Problem(
            kPolicyNotReady, policy.object,
            format("the operator has not reconciled its last change, of {}", policy.unseen_since),
            kReadOperatorsLog),
        .waits_since = {}};
  }
  if (policy.state == "ready" || policy.state == "ignored") {
    return std::nullopt;
  }
  const bool unseen = policy.state.empty();
  const auto make = unseen && IsNew(cluster, policy.made_at) ? Note : Problem;
  return NotReadyPolicy{.finding = make(kPolicyNotReady, policy.object, WhyNot(policy),
                                        unseen ? kReadOperatorsLog : ""),
                        .waits_since = WaitsSince(cluster, policy),
                        .follows_others = !unseen};
}

bool HasProblem(const std::vector<Finding>& findings) {
  return std::ranges::find(findings, Severity::kProblem, &Finding::severity) != findings.end();
}

// Whether nodes or operands are new or changing: policies wait for these only.
bool IsUnderWay(const StagedCluster& cluster, const std::vector<NotReadyPolicy>& not_ready) {
  const ClusterFacts& facts = cluster.facts;
  const bool recent = std::ranges::any_of(not_ready, [&facts](const NotReadyPolicy& one) {
    return one.waits_since &&
           (one.waits_since->empty() || *one.waits_since > Rfc3339(facts.now - kPatience));
  });
  return std::ranges::any_of(facts.nodes,
                             [&](const NodeFacts& node) {
                               const NodeStage& stage = cluster.Of(node);
                               return stage.unfinished && (recent || stage.is_new ||
                                                           stage.changing() || stage.installing);
                             }) ||
         std::ranges::any_of(facts.operands, [&facts](const OperandFacts& operand) {
           return IsNew(facts, operand.made_at) || !operand.young.empty() ||
                  (operand.rolls && operand.updated < operand.desired);
         });
}

}  // namespace

void ExaminePolicyFields(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (cluster.policies.empty() && !IsUnread(cluster, kPoliciesPart)) {
    findings.push_back(Problem("NoClusterPolicy", "cluster", "there is no ClusterPolicy",
                               "install the chart, or create a ClusterPolicy"));
  }
  for (const PolicyFacts& policy : cluster.policies) {
    const std::string& object = policy.object;
    if (!policy.unsupported_fields.empty()) {
      findings.push_back(
          Note("FieldsNotActedOn", object,
               "sets fields that are not supported: " + Join(policy.unsupported_fields, ", "),
               RemedyForFields(policy.unsupported_fields)));
    }
    if (!policy.values_not_known.empty()) {
      findings.push_back(
          Note("ValuesNotKnown", object,
               "the chart got unknown values: " + Join(policy.values_not_known, ", "),
               "correct the names; ignore the values of a parent chart"));
    }
    if (!policy.values_not_followed.empty()) {
      findings.push_back(Note(
          "ValuesNotFollowed", object,
          "the chart got values that have no effect: " + Join(policy.values_not_followed, ", "),
          "nothing, if you do not need them"));
    }
    for (const Condition& condition : policy.conditions) {
      if (condition.reason == reasons::kTaintNotTolerated) {
        findings.push_back(
            Untolerating(cluster, object, condition, "or remove the taint from the nodes"));
      }
      if (condition.reason == reasons::kDefinitionOutdated) {
        findings.push_back(Problem(reasons::kDefinitionOutdated, object, condition.message,
                                   "then apply the object again to restore the dropped fields"));
      }
    }
    if (policy.state == "ignored") {
      findings.push_back(Problem("PolicyIgnored", object,
                                 "is ignored: an older ClusterPolicy exists",
                                 "delete one of the two"));
    }
  }
  for (const PolicyFacts& driver : cluster.drivers) {
    for (const Condition& condition : driver.conditions) {
      if (condition.reason == reasons::kTaintNotTolerated) {
        findings.push_back(
            Untolerating(cluster, driver.object, condition, "add it to its spec.tolerations"));
      }
    }
  }
}

std::vector<Finding> ExaminePolicyStates(const StagedCluster& cluster,
                                         const std::vector<Finding>& others) {
  const ClusterFacts& facts = cluster.facts;
  std::vector<NotReadyPolicy> not_ready;
  for (const PolicyFacts& policy : facts.policies) {
    if (std::optional<NotReadyPolicy> one = OfPolicy(facts, policy)) {
      not_ready.push_back(*std::move(one));
    }
  }
  for (const PolicyFacts& driver : facts.drivers) {
    if (driver.state == "notReady") {
      not_ready.push_back({.finding = Problem(reasons::kDriverNotReady, driver.object,
                                              WhyNot(driver), "correct the field, or "),
                           .waits_since = WaitsSince(facts, driver),
                           .follows_others = true});
    }
  }
  const bool others_wrong = HasProblem(others);
  const bool wrong = others_wrong || std::ranges::any_of(not_ready, [](const NotReadyPolicy& one) {
                       return one.finding.severity == Severity::kProblem && !one.waits_since;
                     });
  const bool excused = !wrong && IsUnderWay(cluster, not_ready);
  std::vector<Finding> findings;
  for (NotReadyPolicy& one : not_ready) {
    if (one.waits_since && excused) {
      one.finding.severity = Severity::kNote;
      one.finding.remedy = "wait: nodes or operands are being started or changed";
    } else if (one.follows_others) {
      if (std::string own = RemedyByWords(one.finding.message); !own.empty()) {
        one.finding.remedy = std::move(own);
      } else if (others_wrong) {
        one.finding.remedy += "see the other findings";
      } else {
        one.finding.remedy = RemedyByPods(OperatorNamespace(facts));
      }
    }
    findings.push_back(std::move(one.finding));
  }
  return findings;
}

}  // namespace gantry::doctor
