// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/paths.h"
#include "operands/vfio_manager/plan.h"

namespace gantry::vfio_manager {

// The file that says which drivers the functions had before: on the disk before the first write to
// a function, and until it has been given back.
class JournalFile {
 public:
  explicit JournalFile(std::string path) : path_(std::move(path)) {}

  // To be had by who changes bindings, until the result is destroyed. kTimeout names the program
  // that has it. Blocks up to `limit`.
  [[nodiscard]] Result<Fd> Lock(std::chrono::milliseconds limit) const;

  // Empty without a file. A file that cannot be read is an error: it is not to be replaced.
  [[nodiscard]] Result<Journal> Read() const;
  // An equal file is not touched; an empty journal removes it.
  [[nodiscard]] Status Write(const Journal& journal) const;

 private:
  std::string path_;
};

}  // namespace gantry::vfio_manager
