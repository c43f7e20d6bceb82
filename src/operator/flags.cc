// SPDX-License-Identifier: Apache-2.0

// Which flags does the controller manager take? Those of NVIDIA's (controller-runtime's zap flags
// among them), so that a Deployment written for it starts this one.

#include "operator/flags.h"

#include <CLI/CLI.hpp>
#include <array>
#include <optional>

#include "base/command_line.h"
#include "base/text.h"
#include "policy/plugin_config.h"

namespace gantry::gpu_operator {
namespace {

// Go's flags accept neither numbers without a unit nor "infinite", and a renewal needs a positive
// time.
Result<std::chrono::nanoseconds> ParseDeadline(const std::string& text) {
  TRY_ASSIGN(const std::chrono::nanoseconds deadline, policy::ParseDuration(text));
  const bool bare = text != "0" && ParseInt(text).has_value();
  if (bare || deadline.count() < 0 || deadline == std::chrono::nanoseconds::max()) {
    return Fail(ErrorKind::kInvalid, format("\"{}\" is no time to renew a lease in (10s)", text));
  }
  return deadline;
}

}  // namespace

std::expected<Flags, int> ParseFlags(int argc, char** argv) {
  Flags flags;
  CLI::App app("Brings GPUs of a cluster into use as its ClusterPolicy says", "gpu-operator");
  std::string deadline = "0";
  std::string level = "info";
  std::array<std::string, 3> unused;
  bool devel = false;
  app.add_option("--metrics-bind-address", flags.metrics_address, "Address of /metrics; 0: none")
      ->capture_default_str();
  app.add_option("--health-probe-bind-address", flags.probe_address,
                 "Address of /healthz and /readyz; 0: none")
      ->capture_default_str();
  app.add_flag("--leader-elect", flags.leader_elect, "Run only while holding the lease");
  app.add_option("--leader-elect-namespace", flags.lease_namespace, "Namespace of the lease");
  app.add_option("--leader-lease-renew-deadline", deadline,
                 "How long to try to renew the lease, such as 10s; 0: the default");
  app.add_option("--kubeconfig", flags.kubeconfig, "Path of a kubeconfig; empty: in-cluster");
  app.add_option("--zap-log-level", level, "debug, info, warning, error or a number");
  app.add_option("--zap-encoder", unused[0], "Accepted; log lines are text");
  app.add_option("--zap-time-encoding", unused[1], "Accepted; times are RFC 3339");
  app.add_option("--zap-stacktrace-level", unused[2], "Accepted; there are no stack traces");
  app.add_flag("--zap-devel", devel, "Log level debug");
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return std::unexpected(*code);
  }
  const auto renew = ParseDeadline(deadline);
  const auto parsed = log::ParseLevel(devel ? "debug" : level);
  if (!renew.has_value() || !parsed.has_value()) {
    log::Error("flags: {}", (renew.has_value() ? parsed.error() : renew.error()).message);
    return std::unexpected(2);
  }
  flags.level = *parsed;
  if (*renew != std::chrono::nanoseconds(0)) {
    flags.renew_deadline = std::chrono::ceil<std::chrono::milliseconds>(*renew);
    flags.lease_duration = flags.renew_deadline + std::chrono::seconds(5);
  }
  return flags;
}

}  // namespace gantry::gpu_operator
