// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"

// Waiting for files and descriptors without polling: inotify(7), eventfd(2), poll(2).
namespace gantry::host {

// Blocks until one of the descriptors is readable or hung up, or the deadline passes. One bool for
// each descriptor, all false after the deadline. Descriptors below 0 are left out.
std::vector<bool> WaitReadable(std::span<const int> descriptors,
                               std::optional<SteadyTime> deadline = std::nullopt);

// Set once, by any thread, and readable from then on: the `stop` of everything here that waits.
class StopEvent {
 public:
  StopEvent();
  void Stop();
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

// Reports which of its paths changed. A path may be a file or a directory (then its direct entries
// count). It need not exist yet, and may be removed and made again with its parents: every
// directory on the way is watched. Not thread-safe.
//
// A symbolic link on the way is followed as this process follows it; a change behind a link in the
// last component is not seen (watch the directory: a ConfigMap volume swaps its `..data` there).
class Watcher {
 public:
  enum class For {
    kContent,    // made, removed, renamed, written and closed, mode or owner changed
    kExistence,  // made, removed, renamed: for /dev, where each write to /dev/null would wake
  };

  // kUnavailable when the user's inotify instances are used up.
  static Result<Watcher> Create();

  // Reports changes of the path from now on, not its present state: read it afterwards.
  // kUnavailable when the user's inotify watches are used up.
  Status Add(const std::string& path, For interest = For::kContent);

  // Readable when something happened; call Take then.
  [[nodiscard]] int fd() const { return inotify_.get(); }

  // The added paths that changed since the last call, each once. Does not block. May be empty.
  std::vector<std::string> Take();

  struct Wake {
    bool stopped = false;
    std::vector<std::string> changed;  // empty and not stopped: the deadline passed
  };
  // Blocks until a path changed, `stop_fd` is readable (below 0: none) or the deadline passes.
  Wake Next(int stop_fd, std::optional<SteadyTime> deadline = std::nullopt);

 private:
  explicit Watcher(Fd inotify) : inotify_(std::move(inotify)) {}
  Status Arm(const std::string& path, For interest);
  Status WatchDirectory(const std::string& directory, uint32_t mask, bool* exists);
  void Forget(const std::string& directory);
  void Collect(int descriptor, uint32_t mask, const std::string& name,
               std::set<std::string>& changed);

  Fd inotify_;
  std::map<std::string, For> targets_;
  std::map<std::string, int> descriptors_;            // directory -> watch descriptor
  std::map<int, std::set<std::string>> directories_;  // the reverse: one inode, several paths
};

}  // namespace gantry::host
