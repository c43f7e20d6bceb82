// SPDX-License-Identifier: Apache-2.0
// Where under a driver root lies libnvidia-ml.so.1? Distributions put it into one of six folders. A
// driver root is somebody else's file system seen from here: its links are resolved inside it.
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "nvml/nvml.h"

namespace gantry::nvml {
namespace {

constexpr const char* kFolders[] = {
    "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/lib64",     "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu"};

}  // namespace

Result<std::filesystem::path> FindLibrary(const std::filesystem::path& root) {
  for (const char* folder : kFolders) {
    const Result<std::string> file =
        ResolveInRoot(root.string(), format("{}/libnvidia-ml.so.1", folder));
    std::error_code error;
    if (file.has_value() && std::filesystem::is_regular_file(*file, error)) {
      return std::filesystem::path(*file);
    }
  }
  return Fail(ErrorKind::kNotFound, format("find libnvidia-ml.so.1 under {}: in none of usr/lib64, "
                                           "usr/lib/<arch>-linux-gnu, lib64, lib/<arch>-linux-gnu",
                                           root.string()));
}

}  // namespace gantry::nvml
