// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::device_plugin {

// The file `.started` in the folder of a resource that MPS shares: its daemon accepts clients. It
// counts while its writer lives and holds a lock on it, which the kernel releases with the process.
// A watch on the folder sees both.
class MpsStarted {
 public:
  static Result<MpsStarted> Claim(const std::string& folder);
  MpsStarted(MpsStarted&&) = default;
  MpsStarted& operator=(MpsStarted&&) = delete;
  ~MpsStarted();

 private:
  MpsStarted(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Fd file_;
};

// Whether a process holds the file in that folder now.
bool MpsIsStarted(const std::string& folder);

}  // namespace gantry::device_plugin
