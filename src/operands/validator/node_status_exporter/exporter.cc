// SPDX-License-Identifier: Apache-2.0
// What is this node's status at a scrape? Read at each scrape, so that it is never outdated, and
// the process sleeps in between.
#include "operands/validator/node_status_exporter/exporter.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/log.h"
#include "base/text.h"
#include "host/pci.h"
#include "host/watch.h"
#include "http/server.h"
#include "operands/validator/node_status_exporter/node_metrics.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

NodeStatus Read(const Flags& flags, const host::StatusFiles& files, long long started) {
  const auto values = [&files](const char* name) -> std::optional<host::StatusValues> {
    Result<host::StatusValues> read = files.Read(name);
    return read ? std::optional(*std::move(read)) : std::nullopt;
  };
  NodeStatus status;
  status.node = flags.node_name;
  status.started = started;
  status.device_plugin = flags.device_plugin;
  status.driver = values(names::kDriverReady);
  status.toolkit = values(names::kToolkitReady);
  status.plugin = values(names::kPluginReady);
  status.cuda = values(names::kCudaReady);
  status.last_checks = values(names::kLastChecks).value_or(host::StatusValues());
  if (const auto functions = host::ListPci(flags.sys_here); functions) {
    status.pci_devices = static_cast<int>(std::ranges::count_if(*functions, host::IsNvidiaGpu));
  }
  return status;
}

Status Serve(const Flags& flags, const host::Signals& signals) {
  TRY_ASSIGN(const host::StatusFiles files, host::StatusFiles::Open(flags.output_dir));
  const auto started = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  const auto answer = [&](std::string_view path) {
    if (path == "/healthz") {
      return http::Response{200, "ok"};
    }
    return path == "/metrics" ? http::MetricsResponse(MetricsText(Read(flags, files, started)))
                              : http::Response{404, "not found: /metrics, /healthz"};
  };
  TRY_ASSIGN(const auto server, http::Server::Start(format(":{}", flags.metrics_port), answer));
  log::Info("serving metrics of node {} on port {}", flags.node_name, server->port());
  const std::array<int, 1> stop = {signals.stop_fd()};
  host::WaitReadable(stop);
  return {};
}

}  // namespace

int RunExporter(const Flags& flags, const host::Signals& signals) {
  const Status served = Serve(flags, signals);
  if (!served) {
    log::Error("serve metrics: {}", served.error().message);
  }
  return served ? 0 : 1;
}

}  // namespace gantry::validator
