// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::container_toolkit {

// The file with the pid of a host's toolkit: locked while it runs, removed afterwards.
class PidFile {
 public:
  // `path` is a host path; its folder is made. kConflict: another toolkit holds it.
  static Result<PidFile> Make(const std::string& host_root, const std::string& path);
  PidFile(PidFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::move(other.fd_)) {}
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  PidFile& operator=(PidFile&&) = delete;
  ~PidFile();

 private:
  PidFile(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  Fd fd_;
};

}  // namespace gantry::container_toolkit
