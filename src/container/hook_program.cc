// SPDX-License-Identifier: Apache-2.0
// Is a hook program Gantry's? Asking it would mean to run it in the host's root with the host's
// loader, so its file contains a marker instead.
#include "container/hook_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/paths.h"

namespace gantry::container {
namespace {

// The number is raised with each new flag of `create-container`: an older program would ignore the
// entire call.
[[gnu::used]] constexpr char kMarker[] = "gantry hook: create-container, flags of 1";

// Read in pieces: the programs have some MB, and the callers must stay small.
bool Holds(const Fd& file, std::string_view wanted) {
  constexpr size_t kPiece = size_t{64} << 10;
  std::array<char, kPiece> piece{};
  size_t kept = 0;
  while (true) {
    const ssize_t got = ::read(file.get(), piece.data() + kept, piece.size() - kept);
    if (got <= 0) {
      return false;
    }
    const std::string_view seen(piece.data(), kept + static_cast<size_t>(got));
    if (seen.find(wanted) != std::string_view::npos) {
      return true;
    }
    kept = std::min(seen.size(), wanted.size() - 1);
    std::memmove(piece.data(), piece.data() + seen.size() - kept, kept);
  }
}

}  // namespace

const char* HookMarker() { return &kMarker[0]; }

HookMaker MakerOfHook(const std::string& root, const std::string& path) {
  const auto here = ResolveInRoot(root, path);
  struct stat info{};
  if (path.empty() || !here || ::stat(here->c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      (info.st_mode & 0111) == 0) {
    return HookMaker::kAbsent;
  }
  const Fd file(::open(here->c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() && Holds(file, HookMarker()) ? HookMaker::kGantry : HookMaker::kOther;
}

}  // namespace gantry::container
