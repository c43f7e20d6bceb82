// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace gantry {

// An empty folder of a test; deleted with all its content when the object is destroyed.
class TempFolder {
 public:
  TempFolder() { CHECK(mkdtemp(path_.data()) != nullptr); }
  ~TempFolder() {
    std::error_code left;
    std::filesystem::remove_all(path_, left);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Absolute; short enough for sockets in it.
  [[nodiscard]] const std::string& path() const { return path_; }
  // The path of an entry: `folder / "a/b"`, `folder / "/a/b"`.
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + (name.starts_with('/') ? "" : "/") + std::string(name);
  }

  // Writes a file, and makes its parent folders.
  void Write(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = *this / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  std::string path_ = "/tmp/gantry-test-XXXXXX";
};

}  // namespace gantry
