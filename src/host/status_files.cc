// SPDX-License-Identifier: Apache-2.0
// Which steps of this node's setup are complete, as its operands tell each other? /run survives a
// reboot if it is not a tmpfs, and a node may be resumed from an image. So each file of Gantry's
// names its boot, and one of an earlier boot does not count.
#include "host/status_files.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "host/files.h"
#include "host/watch.h"

namespace gantry::host {
namespace {

// When the kernel started, in nanoseconds since the epoch.
long long BootTime() {
  timespec now{};
  timespec since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return (now.tv_sec - since_boot.tv_sec) * 1'000'000'000LL + (now.tv_nsec - since_boot.tv_nsec);
}

// A tmpfs is of this boot, and so are its files.
bool OnTmpfs(const std::string& path) {
  struct statfs info{};
  return statfs(path.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

}  // namespace

StatusValues ParseStatusFile(std::string_view text) {
  StatusValues values;
  for (const std::string& line : Split(text, '\n')) {
    const std::string_view trimmed = Trim(line);
    const size_t equals = trimmed.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      continue;
    }
    std::string_view value = Trim(trimmed.substr(equals + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    values[std::string(Trim(trimmed.substr(0, equals)))] = std::string(value);
  }
  return values;
}

std::string StatusFileText(const StatusValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text.append(name).append("=").append(value).append("\n");
  }
  return text;
}

Result<std::string> BootId() {
  TRY_ASSIGN(const std::string text, ReadFile("/proc/sys/kernel/random/boot_id"));
  return std::string(Trim(text));
}

StatusFiles::StatusFiles(std::string directory, std::string boot_id)
    : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}

Result<StatusFiles> StatusFiles::Open(std::string directory) {
  TRY_ASSIGN(std::string boot_id, BootId());
  return StatusFiles(std::move(directory), std::move(boot_id));
}

Result<StatusValues> StatusFiles::Read(const std::string& name) const {
  const std::string path = JoinPath(directory_, name);
  TRY_ASSIGN(const std::string text, ReadFile(path));
  StatusValues values = ParseStatusFile(text);
  const auto boot = values.find(kBootIdLine);
  if (boot != values.end()) {
    if (boot->second != boot_id_) {
      return Fail(ErrorKind::kNotFound, format("read {}: it is of an earlier boot", path));
    }
    return values;
  }
  TRY_ASSIGN(const FileInfo info, Inspect(path));
  // A clock that was set forward meanwhile makes a file look older than it is.
  if (info.modified_ns < BootTime() && !OnTmpfs(path)) {
    return Fail(ErrorKind::kNotFound, format("read {}: it is older than this boot", path));
  }
  return values;
}

Result<bool> StatusFiles::Write(const std::string& name, StatusValues values,
                                const std::string& owner) const {
  values[kBootIdLine] = boot_id_;
  values[kOwnerLine] = owner;
  const auto write = [&]() -> Result<bool> {
    TRY(MakeDirectories(directory_));
    return WriteIfDifferent(JoinPath(directory_, name), StatusFileText(values));
  };
  Result<bool> wrote = write();
  // The directory was removed between two steps: make it again. If the mount of a removed directory
  // remains, the second try fails too.
  if (!wrote && wrote.error().kind == ErrorKind::kNotFound) {
    wrote = write();
  }
  return wrote;
}

Result<bool> StatusFiles::Remove(const std::string& name) const {
  const std::string path = JoinPath(directory_, name);
  TRY_ASSIGN(const FileInfo info, Inspect(path));
  if (info.kind == FileKind::kAbsent) {
    return false;
  }
  TRY(RemoveFile(path));
  return true;
}

Result<bool> StatusFiles::WaitFor(const std::vector<std::string>& names, int stop_fd) const {
  TRY_ASSIGN(Watcher watcher, Watcher::Create());
  TRY(watcher.Add(directory_));
  const auto counts = [this](const std::string& name) { return Read(name).has_value(); };
  while (!std::ranges::all_of(names, counts)) {
    if (watcher.Next(stop_fd).stopped) {
      return false;
    }
  }
  return true;
}

}  // namespace gantry::host
