// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/node_condition.h"
#include "base/error.h"

namespace gantry::agent {

// Makes the Node's condition say what it was told last, unless it does. A thread of its own starts
// the program `gantry node-condition` for each write: TLS takes 4 MB, which would stay.
class ConditionWriter {
 public:
  explicit ConditionWriter(std::string node) : node_(std::move(node)) {}

  // Tried again until it is written, or until it is clear that it never will be (no API server
  // known, no right to do so). Does not block, and of several only the last one counts.
  void Set(NodeCondition condition);

 private:
  void Run(const std::stop_token& stop);
  // kDenied: there is no use in trying again.
  [[nodiscard]] Status Write(const NodeCondition& condition) const;

  const std::string node_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<NodeCondition> wanted_;
  std::jthread thread_;
};

// `node-condition NODE True|False MESSAGE`: 0 when the Node says so, 2 when there is no use in
// trying again, 1 otherwise.
int RunNodeCondition(int argc, char** argv);

}  // namespace gantry::agent
