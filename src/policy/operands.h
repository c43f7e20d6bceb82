// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace gantry::policy {

struct ClusterPolicy;

// One step of bringing up a cluster, under NVIDIA's name for it.
struct Operand {
  std::string_view state;       // "state-device-plugin": in status and messages
  std::string_view section;     // of spec, with its switch; empty: no switch of its own
  std::string_view daemon_set;  // empty: none
  std::string_view deploy;      // under which ClusterFacts counts its nodes: the label's suffix
  bool available;               // false: known, and not there yet
};

// All of them, in the order in which they are brought up.
std::span<const Operand> Operands();

// nullptr for a section of spec that is no operand.
const Operand* OperandOfSection(std::string_view section);
const Operand* OperandOfState(std::string_view state);

// Whether the policy asks for it: its switch, and the conditions that NVIDIA's operator adds.
bool Wanted(const Operand& operand, const ClusterPolicy& policy);

}  // namespace gantry::policy
