// SPDX-License-Identifier: Apache-2.0
// Which logs are read, and how much of them?
#include "doctor/log_reader.h"

#include <chrono>
#include <utility>

namespace gantry::doctor {
namespace {

constexpr size_t kMostLogs = 20;  // of operands, and of workloads
// A shell that traces writes many lines after the cause. A compiler's are long; the API server
// leaves out the last ones of too many bytes.
constexpr long long kLogLines = 200;
constexpr long long kLogBytes = 256 * 1024;
// A node that is away lets the API server wait much longer.
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
