// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace gantry::mig_manager {

// Where it is unless a flag says otherwise: for all programs of ours on a node.
inline constexpr char kDefaultJournal[] = "/run/nvidia/validations/.mig-change.json";

// How the GPUs were divided before a change that has not ended: written before its first step, and
// removed after its last. One that is there at a start is of a change that was cut off. GPU
// instances do not survive a reboot, so one of an earlier boot counts as none.
class Journal {
 public:
  // The folder is made when it is needed.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // The checkpoint; nullopt: no change was cut off. A file that cannot be read counts as none, and
  // is logged.
  [[nodiscard]] Result<std::optional<Json>> Before() const;
  // On the disk when it returns.
  [[nodiscard]] Status Begin(const Json& checkpoint) const;
  [[nodiscard]] Status End() const;

 private:
  std::string path_;
};

}  // namespace gantry::mig_manager
