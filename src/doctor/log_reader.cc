// SPDX-License-Identifier: Apache-2.0
// Which logs are read, and how much of them?
#include "doctor/log_reader.h"

#include <chrono>
#include <utility>

namespace gantry::doctor {
namespace {

constexpr size_t kMostLogs = 20;  // of operands, and of workloads
// A tracing shell writes many lines after the cause. A compiler's lines are long, and the API
// server cuts the last ones beyond the byte limit.
constexpr long long kLogLines = 200;
constexpr long long kLogBytes = 256 * 1024;
// For a node that is away the API server would wait much longer.
constexpr std::chrono::seconds kLogTimeout(5);

}  // namespace

LogReader::LogReader(const kube::Client& client, std::stop_token stop)
    : client_(client.Bounded(std::move(stop), kLogTimeout)) {}

Status LogReader::Read(ContainerFacts& container, size_t& asked) {
  if (asked == kMostLogs || silent_.contains(container.node)) {
    return {};
  }
  ++asked;
  Result<std::string> log =
      client_->Log({container.ns, container.pod}, {.container = container.container,
                                                   .previous = !container.over,
                                                   .tail_lines = kLogLines,
                                                   .limit_bytes = kLogBytes});
  if (log.has_value()) {
    container.log = *std::move(log);
  } else if (log.error().kind == ErrorKind::kDenied) {
    asked = kMostLogs;
    return std::unexpected(log.error());
  } else if (log.error().kind != ErrorKind::kInvalid) {
    silent_.insert(container.node);
  }
  return {};
}

}  // namespace gantry::doctor
