// SPDX-License-Identifier: Apache-2.0
// Who else on this node is at the same thing now, and when has it ended?
#include "host/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "host/files.h"

namespace gantry::host {
namespace {

// flock(2) has no limit of time.
constexpr std::chrono::milliseconds kTryAgain(5);

}  // namespace

Result<bool> LockWithin(const Fd& file, std::chrono::milliseconds limit) {
  const SteadyTime deadline = RealClock().Now() + limit;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return FailErrno("lock a file", errno);
    }
    if (RealClock().Now() >= deadline) {
      return false;
    }
    std::this_thread::sleep_for(kTryAgain);
  }
  return true;
}

Result<Fd> LockFile(const std::string& path, std::chrono::milliseconds limit) {
  TRY(MakeDirectories(ParentOf(path)));
  Fd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return FailErrno("lock " + path, errno);
  }
  TRY_ASSIGN(const bool locked, LockWithin(file, limit));
  if (!locked) {
    return Fail(ErrorKind::kTimeout, format("lock {}: {} has it for more than {} s", path,
                                            HoldersText(file), limit.count() / 1000));
  }
  return file;
}

// "1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF"; one that waits: "1: -> FLOCK ...".
std::vector<int> LockHolders(std::string_view proc_locks, unsigned major, unsigned minor,
                             unsigned long inode) {
  const std::string wanted = format("{:02x}:{:02x}:{}", major, minor, inode);
  std::vector<int> holders;
  for (const std::string& line : Split(proc_locks, '\n')) {
    std::vector<std::string> words = Split(line, ' ');
    std::erase(words, "");
    if (words.size() < 6 || words[1] != "FLOCK" || words[5] != wanted) {
      continue;
    }
    if (const auto pid = ParseInt(words[4]); pid.has_value() && *pid > 0) {
      holders.push_back(static_cast<int>(*pid));
    }
  }
  return holders;
}

std::string HoldersText(const Fd& file) {
  struct stat info{};
  const auto locks = ReadFile("/proc/locks");
  std::vector<std::string> names;
  if (locks.has_value() && ::fstat(file.get(), &info) == 0) {
    for (const int pid : LockHolders(*locks, major(info.st_dev), minor(info.st_dev), info.st_ino)) {
      const auto name = ReadFile(format("/proc/{}/comm", pid));
      names.push_back(format("process {} ({})", pid, Trim(name.value_or("its name is not known"))));
    }
  }
  return names.empty() ? "a process that is not seen here" : Join(names, ", ");
}

}  // namespace gantry::host
