// SPDX-License-Identifier: Apache-2.0

// Which flags does the controller manager take? Those of NVIDIA's (controller-runtime's zap flags
// among them), so that a Deployment written for it starts this one.

#include "operator/flags.h"

#include <CLI/CLI.hpp>
#include <array>

#include "base/command_line.h"
#include "base/text.h"

namespace gantry::gpu_operator {

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, long long>, 4> kUnits = {
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}}};
  if (text == "0") {
    return std::chrono::milliseconds(0);
  }
  std::string_view rest = text;
  long long total = 0;
  while (!rest.empty()) {
    const size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || digits > 9) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is no duration such as 10s", text));
    }
    const auto number = ParseInt(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const size_t end = std::min(rest.find_first_of("0123456789"), rest.size());
    const auto unit = std::ranges::find(kUnits, rest.substr(0, end),
                                        &std::pair<std::string_view, long long>::first);
    if (!number.has_value() || unit == kUnits.end()) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is no duration such as 10s", text));
    }
    total += *number * unit->second;
    rest.remove_prefix(end);
  }
  if (text.empty()) {
    return Fail(ErrorKind::kInvalid, "a duration is empty");
  }
  return std::chrono::milliseconds(total);
}

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
  app.add_option("--leader-elect-namespace", flags.lease_space, "Namespace of the lease");
  app.add_option("--leader-lease-renew-deadline", deadline,
                 "How long to try to renew the lease, such as 10s; 0: the default");
  app.add_option("--kubeconfig", flags.kubeconfig, "Path of a kubeconfig; empty: in-cluster");
  app.add_option("--zap-log-level", level, "debug, info, warning, error or a number");
  app.add_option("--zap-encoder", unused[0], "Accepted; log lines are text");
  app.add_option("--zap-time-encoding", unused[1], "Accepted; times are RFC 3339");
  app.add_option("--zap-stacktrace-level", unused[2], "Accepted; there are no stack traces");
  app.add_flag("--zap-devel", devel, "Log level debug");
  try {
    app.parse(WordsFor(app, argc, argv));
  } catch (const CLI::ParseError& error) {
    return std::unexpected(app.exit(error));
  }
  const auto renew = ParseDuration(deadline);
  const auto parsed = log::ParseLevel(devel ? "debug" : level);
  if (!renew.has_value() || !parsed.has_value()) {
    log::Error("flags: {}", (renew.has_value() ? parsed.error() : renew.error()).message);
    return std::unexpected(2);
  }
  flags.level = *parsed;
  if (*renew > std::chrono::milliseconds(0)) {
    flags.renew_deadline = *renew;
    flags.lease_duration = *renew + std::chrono::seconds(5);
  }
  return flags;
}

}  // namespace gantry::gpu_operator
