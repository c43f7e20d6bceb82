// SPDX-License-Identifier: Apache-2.0
// What can the user do about a finding? A remedy names the field, the object or the command. The
// messages are those of the API server (validation, admission, quota, authorization) and of the
// kubelet.
#include "doctor/remedies.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "policy/operands.h"

namespace gantry::doctor {
namespace {

// The quoted word after `words`; empty: none.
std::string QuotedAfter(std::string_view text, std::string_view words, char quote) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) {
    return "";
  }
  const size_t begin = text.find(quote, at + words.size());
  const size_t end = begin == std::string_view::npos ? begin : text.find(quote, begin + 1);
  return end == std::string_view::npos ? "" : std::string(text.substr(begin + 1, end - begin - 1));
}

// The next word, up to a comma, a colon or a blank.
std::string WordAfter(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) {
    return "";
  }
  text.remove_prefix(at + words.size());
  return std::string(text.substr(0, text.find_first_of(",: ")));
}

struct Refusal {
  std::string_view words;
  std::string_view remedy;
};

constexpr std::array kRefusals = std::to_array<Refusal>({
    {"disallowed by cluster policy",
     "start kube-apiserver with --allow-privileged=true: operands need privileged containers"},
    {"violates PodSecurity",
     "set psa.enabled=true, or label the namespace "
     "pod-security.kubernetes.io/enforce=privileged"},
    {"unable to validate against any security context constraint",
     "let the operands' ServiceAccounts use a SecurityContextConstraint that allows what the "
     "message names"},
    {"because it is being terminated",
     "wait until the namespace is deleted, then install the chart again"},
    {"namespaces \"", "create the namespace, or install the chart again"},
    {"the server could not find the requested resource",
     "apply the CRDs of this release again: gantry manage-crds apply"},
    {"no matches for kind", "apply the CRDs of this release again: gantry manage-crds apply"},
    {"etcdserver: mvcc: database space exceeded", "compact and defragment etcd"},
    {"request is too large", "make the object smaller: etcd accepts 1.5 MiB"},
    {" cannot ",
     "install the chart again: the operator's ClusterRole lacks the permission that the message "
     "names"},
});

}  // namespace

std::string RemedyByWords(std::string_view words) {
  if (const std::string policy = QuotedAfter(words, "ValidatingAdmissionPolicy ", '\'');
      !policy.empty()) {
    return format(
        "change the ValidatingAdmissionPolicy {}, or exempt the operator's namespace in its "
        "binding {}",
        policy, QuotedAfter(words, "with binding ", '\''));
  }
  if (const std::string webhook = QuotedAfter(words, "failed calling webhook", '"');
      !webhook.empty()) {
    return format("fix the webhook {}, or exempt the operator's namespace from it", webhook);
  }
  if (const std::string webhook = QuotedAfter(words, "admission webhook", '"'); !webhook.empty()) {
    return format(
        "change the policy behind the webhook {}, or exempt the operator's namespace "
        "from it",
        webhook);
  }
  if (const std::string quota = WordAfter(words, "exceeded quota: "); !quota.empty()) {
    return format("raise the ResourceQuota {} of the operator's namespace", quota);
  }
  const auto found = std::ranges::find_if(kRefusals, [words](const Refusal& each) {
    return words.find(each.words) != std::string_view::npos;
  });
  return found == kRefusals.end() ? "" : std::string(found->remedy);
}

std::string RemedyForFields(const std::vector<std::string>& fields) {
  std::vector<std::string> remedies;
  for (const std::string& field : fields) {
    if (field == "driver") {
      remedies.emplace_back(
          "set spec.driver.version, with repository and image if they are not set, or "
          "spec.driver.enabled=false if the nodes have their own drivers");
    } else if (policy::OperandOfSection(field) != nullptr) {
      remedies.push_back(format(
          "set repository, image and version of spec.{0}, or spec.{0}.enabled=false", field));
    }
  }
  if (remedies.size() < fields.size()) {
    remedies.emplace_back("remove the fields if you do not need them");
  }
  return Join(remedies, "; ");
}

std::string RemedyByPods(std::string_view ns) {
  return ns.empty()
             ? std::string(
                   "check the operator's pods and events: kubectl get pods -A -l app=gpu-operator")
             : format(
                   "check the pods and events (kubectl get pods,events -n {0}) and the operator's "
                   "log (kubectl logs -n {0} -l app=gpu-operator)",
                   ns);
}

void JoinCauses(std::vector<Finding>& findings) {
  std::map<std::pair<std::string, std::string>, size_t> first;
  std::vector<Finding> joined;
  for (Finding& finding : findings) {
    if (!finding.cause.empty()) {
      const auto [at, added] = first.emplace(std::pair(finding.code, finding.cause), joined.size());
      if (!added) {
        Finding& one = joined[at->second];
        one.object += ", " + finding.object;
        one.nodes.merge(finding.nodes);
        continue;
      }
    }
    joined.push_back(std::move(finding));
  }
  findings = std::move(joined);
}

}  // namespace gantry::doctor
