// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/gpu_holders.h"

// What the MIG manager of a node and the operator tell each other about the holders of its GPUs.
namespace gantry::policy {

// Who would be cut off by the change of the MIG layout that a node's label asks for. The MIG
// manager writes it, in the annotation names::kMigHolders of its NodeFeature.
struct MigHolders {
  std::string layout = {};
  std::vector<std::string> pods = {};       // "namespace/name", each once
  std::vector<std::string> processes = {};  // outside of pods: "process 12 (python3)"
  bool withdrawn = false;  // no container gets the GPUs that change, until the change has ended
  bool operator==(const MigHolders&) const = default;
};
std::string FormatMigHolders(const MigHolders& holders);
// nullopt: empty, or not one.
std::optional<MigHolders> ParseMigHolders(std::string_view annotation);

// What the operator has decided about them. It writes it, in the Node's annotation
// names::kMigHoldersStep, as long as there are any.
struct MigHoldersStep {
  std::string layout = {};
  GpuHoldersSpec spec = {};            // by which it was decided
  WallTime held_since{};               // since when it has known holders; whole seconds, as below
  WallTime since{};                    // since when it has handled them by this spec
  bool given_up = false;               // the time is over; the GPUs are as before
  std::optional<WallTime> deadline{};  // when it gives up, or gave up; nullopt: never
  std::string refused = {};            // why an eviction or a deletion was refused; empty: none was
  std::string message = {};            // all of it, in a sentence

  // Whether the change waits: the MIG manager keeps the GPUs withdrawn, and the node's
  // nvidia.com/mig.config.state is `pending`, else `failed`.
  [[nodiscard]] bool waits() const { return spec.action != HolderAction::kFail && !given_up; }
  bool operator==(const MigHoldersStep&) const = default;
};
std::string FormatMigHoldersStep(const MigHoldersStep& step);
// nullopt: empty, or not one.
std::optional<MigHoldersStep> ParseMigHoldersStep(std::string_view annotation);

}  // namespace gantry::policy
