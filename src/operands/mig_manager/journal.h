// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "policy/names.h"

namespace gantry::mig_manager {

// Where it is unless a flag says otherwise: for all programs of ours on a node.
inline std::string DefaultJournal() { return JoinPath(names::kValidationsDir, names::kMigChange); }

// How the GPUs were divided before a change that has not ended: written before its first step, and
// removed after its last. One that is there at a start is of a change that was cut off. GPU
// instances do not survive a reboot, so one of an earlier boot counts as none.
class Journal {
 public:
  // The folder is made when it is needed.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // To be had by who changes the GPUs or reads the journal to do so, until the result is destroyed:
  // the journal of a change that goes on is not one that was cut off. kTimeout names the program
  // that has it. Blocks up to `limit`.
  [[nodiscard]] Result<Fd> Lock(std::chrono::milliseconds limit) const;

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
