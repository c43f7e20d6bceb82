// SPDX-License-Identifier: Apache-2.0
// Where is a trial configuration while the engine's own program reads it? In /run of the host,
// which a reboot clears. There is one toolkit a host, so one name is enough, and leftovers of a
// killed one are found.
#include "operands/container_toolkit/trial_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/paths.h"
#include "host/files.h"

namespace gantry::container_toolkit {

constexpr char kFolder[] = "/run/nvidia-toolkit-trial";

Result<TrialFolder> TrialFolder::Make(const std::string& host_root) {
  TRY_ASSIGN(const std::string path, ResolveInRoot(host_root, kFolder));
  RemoveLeft(host_root);
  if (::mkdir(path.c_str(), S_IRWXU) != 0) {
    return FailErrno("make " + path, errno);
  }
  return TrialFolder(path, WithoutRoot(host_root, path).value_or(path));
}

void TrialFolder::RemoveLeft(const std::string& host_root) {
  if (const auto path = ResolveInRoot(host_root, kFolder)) {
    std::error_code ignored;
    std::filesystem::remove_all(*path, ignored);
  }
}

TrialFolder::TrialFolder(std::string path, std::string host_path)
    : path_(std::move(path)), host_path_(std::move(host_path)) {}

TrialFolder::TrialFolder(TrialFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")), host_path_(std::move(other.host_path_)) {}

TrialFolder::~TrialFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Result<std::string> TrialFolder::Write(const std::string& name, const std::string& content) const {
  const std::string path = JoinPath(path_, name);
  TRY(host::MakeDirectories(ParentOf(path)));
  TRY(host::WriteFileAtomic(path, content));
  return JoinPath(host_path_, name);
}

}  // namespace gantry::container_toolkit
