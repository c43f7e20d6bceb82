// SPDX-License-Identifier: Apache-2.0
// Where under a driver root is libnvidia-ml.so.1? Distributions put it into one of six folders, or
// into one that the linker's cache names; Talos' extensions into one of two. A driver root is
// another root file system, so its links are resolved inside it.
#include <array>
#include <optional>
#include <system_error>

#include "base/paths.h"
#include "base/text.h"
#include "elf/library_cache.h"
#include "nvml/nvml.h"

namespace gantry::nvml {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr std::array kFolders = {
    "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/lib64",     "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu"};

std::optional<std::filesystem::path> LibraryIn(const std::string& root, std::string_view folder) {
  const Result<std::string> file = ResolveInRoot(root, JoinPath(folder, kLibrary));
  std::error_code error;
  return file.has_value() && std::filesystem::is_regular_file(*file, error)
             ? std::optional<std::filesystem::path>(*file)
             : std::nullopt;
}

}  // namespace

Result<std::filesystem::path> FindLibrary(const std::filesystem::path& root) {
  for (const char* folder : kFolders) {
    if (auto library = LibraryIn(root.string(), folder)) {
      return *std::move(library);
    }
  }
  for (const std::string& folder : elf::CachedFolders(root.string(), kLibrary)) {
    if (auto library = LibraryIn(root.string(), folder)) {
      return *std::move(library);
    }
  }
  for (const char* folder : elf::kExtensionFolders) {
    if (auto library = LibraryIn(root.string(), folder)) {
      return *std::move(library);
    }
  }
  return Fail(ErrorKind::kNotFound, format("find libnvidia-ml.so.1 under {}: in none of usr/lib64, "
                                           "usr/lib/<arch>-linux-gnu, lib64, "
                                           "lib/<arch>-linux-gnu, the linker's cache, "
                                           "usr/local/glibc/usr/lib, usr/lib",
                                           root.string()));
}

}  // namespace gantry::nvml
