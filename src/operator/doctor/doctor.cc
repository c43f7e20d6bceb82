// SPDX-License-Identifier: Apache-2.0
// Reading a live cluster for the doctor: nodes, waiting pods, warnings, operands, policies, each
// once, one object in memory at a time. What they mean is decided in findings.cc.
#include "operator/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/text.h"
#include "kube/client.h"
#include "operator/doctor/facts.h"
#include "operator/doctor/findings.h"
#include "operator/doctor/status_table.h"
#include "policy/kinds.h"

namespace gantry::doctor {
namespace {

constexpr char kOperandSelector[] = "app.kubernetes.io/part-of=gpu-operator";
// Older warnings about objects whose state the doctor cannot read are history.
constexpr std::chrono::minutes kFresh(30);

struct Flags {
  std::string kubeconfig;
  std::string space;
  std::string output = "text";
};

// What an event is about, by kind and key.
struct Involved {
  std::string kind;
  kube::Key key;
  auto operator<=>(const Involved&) const = default;
};

std::optional<kube::Kind> ControllerKind(std::string_view kind) {
  for (const kube::Kind& each : {kube::kinds::kReplicaSet, kube::kinds::kJob,
                                 kube::kinds::kStatefulSet, kube::kinds::kDaemonSet}) {
    if (each.kind == kind) {
      return each;
    }
  }
  return std::nullopt;
}

std::string LastSeen(const Json& event) {
  for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime"}) {
    if (std::string time = TextAt(event, path); !time.empty()) {
      return time;
    }
  }
  return TextAt(event, "metadata.creationTimestamp");
}

bool IsRefusal(const std::string& message) {
  return message.find("Limit must be set for non overcommitable resources") != std::string::npos ||
         (message.find("exceeded quota") != std::string::npos &&
          message.find("nvidia.com/") != std::string::npos);
}

// The workload that a user knows: a ReplicaSet's Deployment, a Job's CronJob. Nothing if the object
// is gone or has its pods by now.
Result<std::optional<std::string>> Workload(kube::Client& client, const Involved& involved,
                                            const std::string& last_seen) {
  const std::optional<kube::Kind> kind = ControllerKind(involved.kind);
  if (!kind) {
    const bool fresh = last_seen > Rfc3339(RealClock().Wall() - kFresh);
    return fresh ? std::optional(involved.kind + " " + involved.key.Text()) : std::nullopt;
  }
  const Result<Json> object = client.Get(*kind, involved.key);
  if (!object) {
    if (object.error().kind == ErrorKind::kNotFound) {
      return std::nullopt;
    }
    return std::unexpected(object.error());
  }
  if (!LacksPods(*object)) {
    return std::nullopt;
  }
  const std::string owner = PodFrom(*object).owner;
  if (owner.empty()) {
    return involved.kind + " " + involved.key.Text();
  }
  const size_t space = owner.find(' ');
  return owner.substr(0, space) + " " + involved.key.space + "/" + owner.substr(space + 1);
}

Result<std::vector<RefusalFacts>> ReadRefusals(kube::Client& client, const std::string& space) {
  std::map<Involved, std::pair<std::string, std::string>> seen;  // message, last seen
  TRY(client.List(kube::kinds::kEvent, {.space = space, .labels = "", .fields = "type=Warning"},
                  [&seen](const Json& event) {
                    const std::string message = TextAt(event, "message");
                    if (IsRefusal(message)) {
                      seen[{TextAt(event, "involvedObject.kind"),
                            {TextAt(event, "involvedObject.namespace"),
                             TextAt(event, "involvedObject.name")}}] = {message, LastSeen(event)};
                    }
                  }));
  std::vector<RefusalFacts> refusals;
  for (const auto& [involved, told] : seen) {
    TRY_ASSIGN(const std::optional<std::string> workload, Workload(client, involved, told.second));
    if (workload) {
      refusals.push_back({.object = *workload, .message = told.first});
    }
  }
  return refusals;
}

Result<ClusterFacts> ReadCluster(kube::Client& client, const std::string& space) {
  ClusterFacts cluster;
  TRY(client.List(kube::kinds::kNode, {},
                  [&cluster](const Json& node) { cluster.nodes.push_back(NodeFrom(node)); }));
  TRY(client.List(kube::kinds::kPod,
                  {.space = space, .labels = "", .fields = "status.phase=Pending,spec.nodeName="},
                  [&cluster](const Json& pod) {
                    PodFacts facts = PodFrom(pod);
                    if (!facts.wants.empty()) {
                      cluster.pending.push_back(std::move(facts));
                    }
                  }));
  TRY_ASSIGN(cluster.refusals, ReadRefusals(client, space));
  TRY(client.List(
      kube::kinds::kDaemonSet, {.space = "", .labels = kOperandSelector, .fields = ""},
      [&cluster](const Json& daemon_set) { cluster.operands.push_back(OperandFrom(daemon_set)); }));
  const auto policies = client.List(policy::kClusterPolicy, {}, [&cluster](const Json& policy) {
    cluster.policies.push_back(PolicyFrom(policy));
  });
  // Without the definition there is no ClusterPolicy, which is a finding and no error.
  if (!policies && policies.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(policies.error());
  }
  return cluster;
}

std::optional<int> ParseFlags(CLI::App& app, Flags& flags, int argc, char** argv) {
  app.add_option("--kubeconfig", flags.kubeconfig, "default: $KUBECONFIG, the pod's own, ~/.kube");
  app.add_option("-n,--namespace", flags.space, "of the workloads; default: all");
  app.add_option("-o,--output", flags.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

Result<ClusterFacts> Connect(const Flags& flags) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(flags.kubeconfig));
  TRY_ASSIGN(const std::unique_ptr<kube::Client> client,
             kube::Client::Create(std::move(config), {.component = "doctor"}));
  return ReadCluster(*client, flags.space);
}

int Unreadable(const char* command, const Error& error) {
  std::fputs(format("gantry {}: {}\n", command, error.message).c_str(), stderr);
  return 2;
}

}  // namespace

int RunDoctor(int argc, char** argv) {
  Flags flags;
  CLI::App app("Names what is wrong with a cluster's GPUs and with those who want them.", "doctor");
  if (const std::optional<int> code = ParseFlags(app, flags, argc, argv)) {
    return *code;
  }
  const Result<ClusterFacts> cluster = Connect(flags);
  if (!cluster) {
    return Unreadable("doctor", cluster.error());
  }
  const std::vector<Finding> findings = Examine(*cluster);
  bool problem = false;
  std::string text;
  for (const Finding& finding : findings) {
    problem = problem || finding.severity == Severity::kProblem;
    text += LineOf(finding) + "\n";
  }
  if (flags.output == "json") {
    text = JsonOf(findings).dump(2) + "\n";
  }
  std::fputs(text.c_str(), stdout);
  return problem ? 1 : 0;
}

int RunStatus(int argc, char** argv) {
  Flags flags;
  CLI::App app("Shows a cluster's GPU nodes and operands.", "status");
  if (const std::optional<int> code = ParseFlags(app, flags, argc, argv)) {
    return *code;
  }
  const Result<ClusterFacts> cluster = Connect(flags);
  if (!cluster) {
    return Unreadable("status", cluster.error());
  }
  std::fputs(StatusText(*cluster).c_str(), stdout);
  return 0;
}

}  // namespace gantry::doctor
