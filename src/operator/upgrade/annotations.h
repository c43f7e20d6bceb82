// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator::upgrade {

// The state of a node's upgrade: NVIDIA's, kept in its label names::kDriverUpgradeState.
enum class State {
  kUnknown,  // no label
  kDone,
  kRequired,
  kCordon,
  kWaitForJobs,
  kPodDeletion,
  kDrain,
  kPodRestart,
  kValidation,
  kUncordon,
  kFailed,
};
// The label's value; empty for kUnknown.
std::string_view NameOf(State state);
// kUnknown for any other label.
State StateNamed(std::string_view label);
// Whether the node uses part of the budget: it is neither idle nor waiting for its turn.
bool InProgress(State state);

// The annotation names::kUpgradeStep.
struct Record {
  State state = State::kUnknown;
  WallTime since{};  // whole seconds
  std::string reason = {};
  // DRIVER_CONFIG_DIGEST of the driver that stays loaded while only its pod is replaced: the node
  // was not drained. Empty: it was, or need not be.
  std::string loaded = {};
};
std::string FormatRecord(const Record& record);
// nullopt if it is not one.
std::optional<Record> ParseRecord(std::string_view annotation);

// The value among a node's upgrade annotations.
const std::string* MarkOf(const Labels& marks, std::string_view key);
bool IsMarked(const Labels& marks, std::string_view key);  // with "true"
bool WaitsForSafeLoad(const Labels& marks);
std::optional<WallTime> MarkedTime(const Labels& marks, std::string_view key);
long long UnixSeconds(WallTime time);

}  // namespace gantry::gpu_operator::upgrade
