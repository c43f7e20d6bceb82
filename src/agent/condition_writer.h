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

// Keeps the Node's condition as last set. A thread of its own runs the program `gantry
// node-condition` for each write: TLS takes 4 MB, which would stay in this process.
class ConditionWriter {
 public:
  explicit ConditionWriter(std::string node) : node_(std::move(node)) {}

  // Retried until it is written, or can't be (no API server configured, no right). Does not block;
  // of several calls only the last one counts.
  void Set(NodeCondition condition);

 private:
  void Run(const std::stop_token& stop);
  // kDenied: a retry is useless.
  [[nodiscard]] Status Write(const NodeCondition& condition) const;

  const std::string node_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<NodeCondition> wanted_;
  std::jthread thread_;
};

// `node-condition NODE True|False MESSAGE`: 0 if the Node has it, 2 if a retry is useless, 1
// otherwise.
int RunNodeCondition(int argc, char** argv);

}  // namespace gantry::agent
