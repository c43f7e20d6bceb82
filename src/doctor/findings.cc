// SPDX-License-Identifier: Apache-2.0
// What is wrong with a cluster, in which order, and how is it printed? Each question has a file of
// its own.
#include "doctor/findings.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"
#include "doctor/cluster_findings.h"
#include "doctor/container_findings.h"
#include "doctor/node_findings.h"
#include "doctor/operand_findings.h"
#include "doctor/pod_findings.h"
#include "doctor/policy_findings.h"
#include "doctor/refusal_findings.h"
#include "doctor/remedies.h"
#include "doctor/start_findings.h"
#include "doctor/workload_findings.h"

namespace gantry::doctor {
namespace {

const char* SeverityName(Severity severity) {
  return severity == Severity::kProblem ? "problem" : "note";
}

void ExamineRefusals(const ClusterFacts& cluster, std::vector<Finding>& operands,
                     std::vector<Finding>& workloads) {
  for (const RefusalFacts& refusal : cluster.refusals) {
    std::optional<Finding> finding = ExamineRefusal(refusal);
    std::vector<Finding>& place = refusal.operand ? operands : workloads;
    if (finding && std::ranges::find(place, *finding) == place.end()) {
      place.push_back(*std::move(finding));
    }
  }
}

}  // namespace

std::vector<Finding> Examine(const ClusterFacts& facts) {
  const StagedCluster cluster(facts);
  std::vector<Finding> findings;
  ExamineCluster(cluster, findings);
  ExaminePolicyFields(facts, findings);
  const auto place = static_cast<std::ptrdiff_t>(findings.size());
  std::vector<Finding> workloads;
  ExamineOperandContainers(cluster, findings);
  ExamineRefusals(facts, findings, workloads);
  ExamineOperators(facts, findings);
  ExamineOperands(cluster, findings);
  ExamineNodes(cluster, findings);
  std::vector<Finding> policies = ExaminePolicyStates(cluster, findings);
  findings.insert(findings.begin() + place, std::move_iterator(policies.begin()),
                  std::move_iterator(policies.end()));
  JoinCauses(findings);  // of joined findings only the first would explain its operand
  std::ranges::move(workloads, std::back_inserter(findings));
  ExamineStarts(facts, findings);
  ExaminePods(cluster, findings);
  ExamineWorkloadContainers(facts, findings);
  return findings;
}

// Severities have one width, so that codes are aligned. Messages of container runtimes and API
// servers may have several lines.
std::string LineOf(const Finding& finding) {
  std::string line =
      format("{:<{}}  {}  {}: {}; {}", SeverityName(finding.severity), sizeof("problem") - 1,
             finding.code, finding.object, finding.message, finding.remedy);
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
    list.push_back({{"severity", SeverityName(finding.severity)},
                    {"code", finding.code},
                    {"object", finding.object},
                    {"message", finding.message},
                    {"remedy", finding.remedy}});
  }
  return {{"findings", std::move(list)}};
}

}  // namespace gantry::doctor
