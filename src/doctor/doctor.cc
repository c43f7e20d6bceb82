// SPDX-License-Identifier: Apache-2.0
// How do the commands doctor and status run? Flags, a client, and the output. read_cluster.cc reads
// the cluster, findings.cc interprets it.
#include "doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/command_line.h"
#include "base/text.h"
#include "doctor/connect.h"
#include "doctor/findings.h"
#include "doctor/read_cluster.h"
#include "doctor/status_table.h"
#include "doctor/status_watch.h"
#include "kube/client.h"

namespace gantry::doctor {
namespace {

struct Flags {
  ClusterFlags cluster;
  std::string ns;
  std::string output = "text";
  bool watch = false;
};

int Unreadable(const char* command, const Error& error) {
  std::fputs(format("gantry {}: {}\n", command, error.message).c_str(), stderr);
  return 2;
}

Result<ClusterFacts> Doctor(const Flags& flags) {
  TRY_ASSIGN(const auto client, Connect(flags.cluster, "doctor"));
  return ReadCluster(*client, flags.ns);
}

Status PrintStatus(const Flags& flags) {
  TRY_ASSIGN(const auto client, Connect(flags.cluster, "status"));
  // Before the watches, which would wait for an unreachable server.
  TRY_ASSIGN(const ClusterFacts cluster, ReadStatus(*client));
  bool one_namespace = false;
  for (const Unread& part : cluster.unread) {
    if (part.what == kNodesPart || part.what == kPoliciesPart) {
      return std::unexpected(part.error);
    }
    one_namespace |= part.what == kAllDaemonSetsPart;
    std::fputs(format("gantry status: {}\n", part.error.message).c_str(), stderr);
  }
  if (flags.watch) {
    return WatchStatus(*client, one_namespace ? OperatorNamespace(cluster) : "");
  }
  std::fputs(StatusText(cluster).c_str(), stdout);
  return {};
}

}  // namespace

int RunDoctor(int argc, char** argv) {
  Flags flags;
  CLI::App app("Reports what is wrong with a cluster's GPUs and the pods that request them.",
               "doctor");
  AddClusterFlags(app, flags.cluster);
  app.add_option("-n,--namespace", flags.ns, "namespace of the workloads; default: all");
  app.add_option("-o,--output", flags.output, "output format: text or json")
      ->check(CLI::IsMember({"text", "json"}));
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  const Result<ClusterFacts> cluster = Doctor(flags);
  if (!cluster) {
    return Unreadable("doctor", cluster.error());
  }
  const std::vector<Finding> findings = Examine(*cluster);
  const bool problem = std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::kProblem; });
  // Bytes that are not UTF-8, in a message, must not end the process.
  const std::string text =
      flags.output == "json"
          ? JsonOf(findings).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
          : TextOf(findings);
  std::fputs(text.c_str(), stdout);
  if (problem) {
    return 1;
  }
  return cluster->unread.empty() ? 0 : 2;
}

int RunStatus(int argc, char** argv) {
  Flags flags;
  CLI::App app("Shows a cluster's GPU nodes and operands.", "status");
  AddClusterFlags(app, flags.cluster);
  app.add_flag("-w,--watch", flags.watch, "print every change until Ctrl-C");
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  if (const Status shown = PrintStatus(flags); !shown.has_value()) {
    return Unreadable("status", shown.error());
  }
  return 0;
}

}  // namespace gantry::doctor
