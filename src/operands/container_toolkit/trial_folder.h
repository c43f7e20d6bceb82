// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"

namespace gantry::container_toolkit {

// A folder on the host for an engine program's trial files; removed with the object.
class TrialFolder {
 public:
  static Result<TrialFolder> Make(const std::string& host_root);
  // Removes a killed toolkit's leftovers.
  static void RemoveLeft(const std::string& host_root);
  TrialFolder(TrialFolder&& other) noexcept;
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  TrialFolder& operator=(TrialFolder&&) = delete;
  ~TrialFolder();

  // Writes a file, "name" or "folder/name"; returns its host path.
  Result<std::string> Write(const std::string& name, const std::string& content) const;
  [[nodiscard]] const std::string& host_path() const { return host_path_; }

 private:
  TrialFolder(std::string path, std::string host_path);
  std::string path_;
  std::string host_path_;
};

}  // namespace gantry::container_toolkit
