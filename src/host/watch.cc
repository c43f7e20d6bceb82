// SPDX-License-Identifier: Apache-2.0
// Which of the watched paths changed? inotify watches inodes, not paths, and a directory that is
// removed loses its watch. So every directory on the way to a path is watched, and each event on
// the way renews the watches of the paths below it, parents before children: a watch reports what
// is made after it was set, and what was made before is found.
#include "host/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"

namespace gantry::host {
namespace {

constexpr uint32_t kExistenceMask =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr uint32_t kContentMask = kExistenceMask | IN_CLOSE_WRITE | IN_ATTRIB;
constexpr uint32_t kDirectoryGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

// "/a/b" -> "/", "/a", "/a/b".
std::vector<std::string> WayTo(const std::string& path) {
  std::vector<std::string> way = {"/"};
  std::string so_far;
  for (const std::string& part : Split(path, '/')) {
    if (part.empty()) {
      continue;
    }
    so_far += "/" + part;
    way.push_back(so_far);
  }
  return way;
}

bool IsAtOrBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") {
    return true;
  }
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

int MillisecondsUntil(SteadyTime deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, INT_MAX));
}

}  // namespace

std::vector<bool> WaitReadable(std::span<const int> descriptors,
                               std::optional<SteadyTime> deadline) {
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int descriptor : descriptors) {
    polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  }
  int count = 0;
  do {
    count = poll(polled.data(), polled.size(), deadline ? MillisecondsUntil(*deadline) : -1);
  } while (count < 0 && errno == EINTR);
  std::vector<bool> readable;
  readable.reserve(polled.size());
  for (const pollfd& each : polled) {
    readable.push_back(count > 0 && each.revents != 0);
  }
  return readable;
}

StopEvent::StopEvent() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_.valid()); }

void StopEvent::Stop() {
  const uint64_t one = 1;
  // Errors are ignored: the counter cannot overflow from a few stops.
  [[maybe_unused]] const ssize_t written = write(fd_.get(), &one, sizeof(one));
}

bool StopEvent::stopped() const {
  pollfd polled = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return poll(&polled, 1, 0) > 0;
}

Result<Watcher> Watcher::Create() {
  Fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) {
    return Fail(ErrorKind::kUnavailable,
                format("watch files: {} (fs.inotify.max_user_instances)", std::strerror(errno)));
  }
  return Watcher(std::move(inotify));
}

Status Watcher::Add(const std::string& path, For interest) {
  const std::string target = WayTo(path).back();
  auto [at, added] = targets_.emplace(target, interest);
  if (!added && interest == For::kContent) {
    at->second = interest;
  }
  return Arm(target, at->second);
}

Status Watcher::Arm(const std::string& path, For interest) {
  const std::vector<std::string> way = WayTo(path);
  for (size_t i = 0; i < way.size(); ++i) {
    const bool content = interest == For::kContent && i + 2 >= way.size();
    bool exists = false;
    TRY(WatchDirectory(way[i], content ? kContentMask : kExistenceMask, &exists));
    if (!exists) {
      for (size_t below = i; below < way.size(); ++below) {
        Forget(way[below]);
      }
      break;
    }
  }
  return {};
}

Status Watcher::WatchDirectory(const std::string& directory, uint32_t mask, bool* exists) {
  const int descriptor = inotify_add_watch(inotify_.get(), directory.c_str(),
                                           mask | IN_MASK_ADD | IN_ONLYDIR | IN_EXCL_UNLINK);
  if (descriptor < 0) {
    if (errno == ENOSPC || errno == ENOMEM) {
      return Fail(ErrorKind::kUnavailable, format("watch {}: {} (fs.inotify.max_user_watches)",
                                                  directory, std::strerror(errno)));
    }
    *exists = false;  // absent, a file, or not readable: its parent reports changes
    return {};
  }
  *exists = true;
  const auto known = descriptors_.find(directory);
  if (known != descriptors_.end() && known->second == descriptor) {
    return {};
  }
  Forget(directory);
  descriptors_[directory] = descriptor;
  directories_[descriptor].insert(directory);
  return {};
}

void Watcher::Forget(const std::string& directory) {
  const auto known = descriptors_.find(directory);
  if (known == descriptors_.end()) {
    return;
  }
  const int descriptor = known->second;
  descriptors_.erase(known);
  auto& paths = directories_[descriptor];
  paths.erase(directory);
  if (paths.empty()) {
    directories_.erase(descriptor);
    inotify_rm_watch(inotify_.get(), descriptor);  // may be gone already
  }
}

void Watcher::Collect(int descriptor, uint32_t mask, const std::string& name,
                      std::set<std::string>& changed) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    for (const auto& [target, interest] : targets_) {
      changed.insert(target);
    }
    return;
  }
  const auto known = directories_.find(descriptor);
  if (known == directories_.end()) {
    return;
  }
  for (const std::string& directory : known->second) {
    const std::string entry = JoinPath(directory, name);
    for (const auto& [target, interest] : targets_) {
      const bool below = (mask & kDirectoryGone) != 0 ? IsAtOrBelow(target, directory)
                                                      : IsAtOrBelow(target, entry);
      if (target == directory || below) {
        changed.insert(target);
      }
    }
  }
  if ((mask & IN_IGNORED) != 0) {
    for (const std::string& directory : known->second) {
      descriptors_.erase(directory);
    }
    directories_.erase(known);
  }
}

std::vector<std::string> Watcher::Take() {
  std::set<std::string> changed;
  alignas(inotify_event) std::array<char, 8192> buffer;
  while (true) {
    const ssize_t size = read(inotify_.get(), buffer.data(), buffer.size());
    if (size <= 0) {
      break;
    }
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const char* name = buffer.data() + at + sizeof(event);
      Collect(event.wd, event.mask, event.len > 0 ? std::string(name) : std::string(), changed);
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  for (const std::string& target : changed) {
    // Out of watches: the next event of a parent tries again.
    [[maybe_unused]] const Status armed = Arm(target, targets_.at(target));
  }
  return {changed.begin(), changed.end()};
}

Watcher::Wake Watcher::Next(int stop_fd, std::optional<SteadyTime> deadline) {
  while (true) {
    const std::array<int, 2> descriptors = {stop_fd, fd()};
    const std::vector<bool> readable = WaitReadable(descriptors, deadline);
    if (readable[0]) {
      return {.stopped = true, .changed = {}};
    }
    if (!readable[1]) {
      return {};
    }
    std::vector<std::string> changed = Take();
    if (!changed.empty()) {
      return {.stopped = false, .changed = std::move(changed)};
    }
  }
}

}  // namespace gantry::host
