// SPDX-License-Identifier: Apache-2.0
// How does the device plugin write the health of its GPUs to the Node? By a short-lived program, so
// that the plugin itself stays small.
#include "agent/condition_writer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "agent/flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "host/processes.h"
#include "kube/client.h"
#include "kube/config.h"
#include "policy/names.h"

namespace gantry::agent {
namespace {

constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{60};
constexpr std::chrono::seconds kWriteLimit{30};
constexpr char kWriter[] = "nvidia-device-plugin";
constexpr int kNeverStatus = 2;
constexpr char kUsage[] =
    "usage: node-condition NODE True|False MESSAGE\n"
    "Says on the Node whether its GPUs are well.";

Status WriteCondition(const std::string& node_name, const NodeCondition& condition) {
  TRY_ASSIGN(auto config, kube::LoadConfig());
  TRY_ASSIGN(const auto client,
             kube::Client::Create(
                 std::move(config),
                 {.component = kWriter, .field_manager = kWriter, .max_idle_connections = 1}));
  TRY_ASSIGN(const auto node, client->Get(kube::kinds::kNode, {.ns = "", .name = node_name}));
  if (const auto object = ConditionToApply(node, condition, Rfc3339(RealClock().Wall()))) {
    TRY(client->Apply(kube::kinds::kNode, *object, kube::Force::kYes, kube::Part::kStatus));
  }
  return {};
}

}  // namespace

void ConditionWriter::Set(NodeCondition condition) {
  const std::lock_guard lock(mutex_);
  wanted_ = std::move(condition);
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  changed_.notify_all();
}

void ConditionWriter::Run(const std::stop_token& stop) {
  auto pause = kFirstPause;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return wanted_.has_value(); })) {
    const auto condition = std::exchange(wanted_, std::nullopt);
    if (!condition) {
      continue;
    }
    lock.unlock();
    const auto written = Write(*condition);
    lock.lock();
    if (!written && pause == kFirstPause) {
      log::Warning("{}", written.error().message);
    }
    if (written || written.error().kind == ErrorKind::kDenied) {
      pause = kFirstPause;
      continue;
    }
    if (!wanted_) {
      wanted_ = condition;
    }
    changed_.wait_for(lock, stop, pause, [] { return false; });
    pause = std::min(2 * pause, kLongestPause);
  }
}

Status ConditionWriter::Write(const NodeCondition& condition) const {
  host::Command command;
  command.words = {"/proc/self/exe", "node-condition", node_, condition.healthy ? "True" : "False",
                   condition.message};
  command.limit = kWriteLimit;
  TRY_ASSIGN(const auto done, host::RunProgram(command));
  if (done.exit_status == 0) {
    return {};
  }
  return Fail(done.exit_status == kNeverStatus ? ErrorKind::kDenied : ErrorKind::kUnavailable,
              format("say on the node that {}: {}", condition.message, Trim(done.errors)));
}

int RunNodeCondition(int argc, char** argv) {
  if (const auto code = ExitCodeOfWords(argc, argv, 3, kUsage)) {
    return *code;
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words[1] != "True" && words[1] != "False") {
    std::fprintf(stderr, "%s\n", kUsage);
    return kNeverStatus;
  }
  const auto written = WriteCondition(words[0], {words[1] == "True", words[2]});
  if (written) {
    return 0;
  }
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  const bool never = written.error().kind == ErrorKind::kDenied ||
                     written.error().kind == ErrorKind::kInvalid ||
                     written.error().kind == ErrorKind::kNotFound;
  return never ? kNeverStatus : 1;
}

}  // namespace gantry::agent
