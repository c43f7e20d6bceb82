// SPDX-License-Identifier: Apache-2.0
// Why is a GPU not used, and why does a pod not get one? Decided from the fields in facts.h, by
// those who know nodes, pods and containers; of operands and policies here.
#include "doctor/findings.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "doctor/cluster_findings.h"
#include "doctor/container_findings.h"
#include "doctor/node_choice.h"
#include "doctor/node_findings.h"
#include "doctor/pod_findings.h"
#include "doctor/refusal_findings.h"
#include "doctor/remedies.h"
#include "doctor/start_findings.h"

namespace gantry::doctor {
namespace {

constexpr char kPolicyNotReady[] = "ClusterPolicyNotReady";
constexpr char kDriverNotReady[] = "DriverNotReady";
// An image is pulled and a driver compiled; who waits longer waits for something else.
constexpr std::chrono::minutes kPatience(20);

// Its state, and what its own condition says.
std::string WhyNot(const PolicyFacts& policy) {
  std::string why =
      policy.state.empty() ? "the operator has not looked at it yet" : "is " + policy.state;
  for (const Condition& condition : policy.conditions) {
    if (condition.type == "Error" && condition.holds) {
      why += ": " + condition.reason + ": " + condition.message;
    }
  }
  return why;
}

// The operator runs, and its rights or an error keep it from what somebody has changed.
bool IsNotActedOn(const ClusterFacts& cluster, const PolicyFacts& policy) {
  constexpr std::chrono::minutes kSoon(1);
  const bool runs = std::ranges::any_of(cluster.operators, [&cluster](const OperatorFacts& each) {
    return each.available > 0 && !IsNew(cluster, each.since);
  });
  return runs && !policy.unseen_since.empty() && policy.unseen_since < Rfc3339(cluster.now - kSoon);
}

void ExaminePolicies(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  if (cluster.policies.empty() && !IsUnread(cluster, kPoliciesPart)) {
    findings.push_back(Problem("NoClusterPolicy", "cluster", "has no ClusterPolicy",
                               "install the chart, or create a ClusterPolicy"));
  }
  for (const PolicyFacts& policy : cluster.policies) {
    const std::string& object = policy.object;
    if (!policy.unsupported_fields.empty()) {
      findings.push_back(
          Note("FieldsNotActedOn", object,
               "sets fields that are not acted on: " + Join(policy.unsupported_fields, ", "),
               RemedyForFields(policy.unsupported_fields)));
    }
    if (!policy.values_not_known.empty()) {
      findings.push_back(Note("ValuesNotKnown", object,
                              "the chart was given values that it does not know: " +
                                  Join(policy.values_not_known, ", "),
                              "correct the names; nothing, if they are a parent chart's own"));
    }
    if (!policy.values_not_followed.empty()) {
      findings.push_back(Note("ValuesNotFollowed", object,
                              "the chart was given values that are not followed: " +
                                  Join(policy.values_not_followed, ", "),
                              "nothing, if you can do without them"));
    }
    for (const Condition& condition : policy.conditions) {
      if (condition.reason == kTaintNotTolerated) {
        findings.push_back(Problem(kTaintNotTolerated, object, condition.message,
                                   "or take the taint off the nodes"));
      }
      if (condition.reason == "DefinitionOutdated") {
        findings.push_back(
            Problem("DefinitionOutdated", object, condition.message,
                    "then write the object again, so that what was dropped comes back"));
      }
    }
    if (policy.state == "ignored") {
      findings.push_back(Problem("PolicyIgnored", object,
                                 "is not acted on: another one was there before it",
                                 "delete it, or the other one"));
    }
    if (policy.state != "ignored" && IsNotActedOn(cluster, policy)) {
      findings.push_back(Problem(
          kPolicyNotReady, object,
          format("the operator has not acted on its last change, of {}", policy.unseen_since),
          "look at the operator's log"));
      continue;
    }
    if (policy.state == "ready" || policy.state == "ignored") {
      continue;
    }
    const bool unseen = policy.state.empty();
    const auto make = unseen && IsNew(cluster, policy.made_at) ? Note : Problem;
    findings.push_back(make(kPolicyNotReady, object, WhyNot(policy),
                            unseen ? "look at the operator's log" : kSeeOthers));
  }
  for (const PolicyFacts& driver : cluster.drivers) {
    for (const Condition& condition : driver.conditions) {
      if (condition.reason == kTaintNotTolerated) {
        findings.push_back(Problem(kTaintNotTolerated, driver.object, condition.message,
                                   "add it to its spec.tolerations"));
      }
    }
    if (driver.state == "notReady") {
      findings.push_back(Problem(kDriverNotReady, driver.object, WhyNot(driver),
                                 format("correct the field, or {}", kSeeOthers)));
    }
  }
}

// A policy that is not ready because nodes or operands are new or being changed, and for nothing
// else, is no trouble.
void ExcusePolicies(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::set<std::string> waiting;  // for their operands
  bool recent = false;            // one of them is not ready for a short time
  for (const auto* policies : {&cluster.policies, &cluster.drivers}) {
    for (const PolicyFacts& policy : *policies) {
      const auto why = std::ranges::find_if(policy.conditions, [](const Condition& condition) {
        return condition.type == "Error" && condition.holds &&
               (condition.reason == "OperandNotReady" || condition.reason == "NFDLabelsMissing" ||
                condition.reason == kDriverNotReady);
      });
      if (why != policy.conditions.end() && !IsNotActedOn(cluster, policy)) {
        waiting.insert(policy.object);
        recent |= why->since.empty() || why->since > Rfc3339(cluster.now - kPatience);
      }
    }
  }
  const auto waits = [&waiting](const Finding& finding) {
    return waiting.contains(finding.object) &&
           (finding.code == kPolicyNotReady || finding.code == kDriverNotReady);
  };
  const bool wrong = std::ranges::any_of(findings, [&waits](const Finding& finding) {
    return finding.severity == Severity::kProblem && !waits(finding);
  });
  const bool under_way =
      std::ranges::any_of(cluster.nodes,
                          [&](const NodeFacts& node) {
                            return IsUnfinished(cluster, node) &&
                                   (recent || IsNew(cluster, node.made_at) || IsChanging(node) ||
                                    IsInstalling(cluster, node));
                          }) ||
      std::ranges::any_of(cluster.operands, [&cluster](const OperandFacts& operand) {
        return IsNew(cluster, operand.made_at) || !operand.young.empty() ||
               (operand.rolls && operand.updated < operand.desired);
      });
  if (wrong || !under_way) {
    return;
  }
  for (Finding& finding : findings) {
    if (waits(finding)) {
      finding.severity = Severity::kNote;
      finding.remedy = "wait: nodes or operands are being started or changed";
    }
  }
}

// Whether its containers, or its refused pods, have said why: that is the cause.
bool IsExplained(const std::vector<Finding>& findings, const std::string& object) {
  return std::ranges::any_of(findings, [&object](const Finding& finding) {
    return (finding.object + " ").starts_with(object + " ");
  });
}

void ExamineOperators(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const OperatorFacts& deployment : cluster.operators) {
    if (deployment.wanted > 0 && deployment.available == 0 &&
        !IsExplained(findings, deployment.object)) {
      const bool starts = IsNew(cluster, deployment.since);
      findings.push_back((starts ? Note : Problem)(
          "OperatorNotRunning", deployment.object, "has no pod that runs",
          starts ? "wait: it is being started"
                 : "kubectl describe and kubectl logs of its pod (-l app=gpu-operator)"));
    }
  }
}

// Of what a node lacks its own finding tells, not each operand that waits for it.
void ExamineOperands(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  std::map<std::string, const NodeFacts*> unsettled;
  for (const NodeFacts& node : cluster.nodes) {
    if (IsUnsettled(cluster, node)) {
      unsettled.emplace(node.name, &node);
    }
  }
  for (const OperandFacts& operand : cluster.operands) {
    if (IsNew(cluster, operand.made_at)) {
      continue;
    }
    const auto excused =
        std::ranges::count_if(
            unsettled,
            [&operand](const auto& each) { return Takes(operand.choice, *each.second); }) +
        std::ranges::count_if(operand.young, [&unsettled](const std::string& node) {
          return !unsettled.contains(node);
        });
    const bool explained = IsExplained(findings, "DaemonSet " + operand.name) ||
                           IsExplained(findings, "DaemonSet " + operand.space + "/" + operand.name);
    if (operand.desired - operand.ready > excused && !explained) {
      const bool placed = operand.scheduler.empty();
      findings.push_back(Problem(
          "OperandNotReady", "DaemonSet " + operand.name,
          format("{} of {} pods are ready{}", operand.ready, operand.desired,
                 placed ? "" : ": " + FirstSentence(operand.scheduler)),
          placed ? format("kubectl describe and kubectl logs of its pods (-l app={})", operand.name)
                 : "set resources of its section in the ClusterPolicy, or make room on the node"));
    }
  }
}

}  // namespace

std::vector<Finding> Examine(const ClusterFacts& cluster) {
  std::vector<Finding> findings;
  ExamineCluster(cluster, findings);
  ExaminePolicies(cluster, findings);
  ExamineOperandContainers(cluster, findings);
  std::vector<Finding> workloads;
  for (const RefusalFacts& refusal : cluster.refusals) {
    std::optional<Finding> finding = ExamineRefusal(refusal);
    std::vector<Finding>& place = refusal.operand ? findings : workloads;
    if (finding && std::ranges::find(place, *finding) == place.end()) {
      place.push_back(*std::move(finding));
    }
  }
  ExamineOperators(cluster, findings);
  ExamineOperands(cluster, findings);
  ExamineNodes(cluster, findings);
  ExcusePolicies(cluster, findings);
  JoinCauses(findings);
  GiveRemedies(OperatorSpace(cluster), findings);
  std::ranges::move(workloads, std::back_inserter(findings));
  ExamineStarts(cluster, findings);
  ExaminePods(cluster, findings);
  ExamineWorkloadContainers(cluster, findings);
  return findings;
}

// What a container runtime or an API server says may have several lines.
std::string LineOf(const Finding& finding) {
  std::string line =
      format("{}  {}: {}; {}", finding.code, finding.object, finding.message, finding.remedy);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string TextOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += LineOf(finding) + "\n";
  }
  return text;
}

Json JsonOf(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", finding.severity == Severity::kProblem ? "problem" : "note"},
                    {"code", finding.code},
                    {"object", finding.object},
                    {"message", finding.message},
                    {"remedy", finding.remedy}});
  }
  return {{"findings", std::move(list)}};
}

}  // namespace gantry::doctor
