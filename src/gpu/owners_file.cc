// SPDX-License-Identifier: Apache-2.0
// When has every program of the node let go of a GPU that another takes?
#include "gpu/owners_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "host/files.h"
#include "host/lock.h"
#include "host/status_files.h"

namespace gantry::gpu {
namespace {

// Another writer replaces the file in this time.
constexpr std::chrono::seconds kReplaced(10);

bool IsSame(const Fd& one, const Fd& other) {
  struct stat a{};
  struct stat b{};
  return one.valid() == other.valid() &&
         (!one.valid() || (::fstat(one.get(), &a) == 0 && ::fstat(other.get(), &b) == 0 &&
                           a.st_dev == b.st_dev && a.st_ino == b.st_ino));
}

// The file, or its folder while there is no file. Not valid: there is neither.
Result<Fd> OpenFileOrFolder(const std::string& path, bool& is_file) {
  for (const bool file : {true, false}) {
    const std::string name = file ? path : ParentOf(path);
    Fd opened(::open(name.c_str(), O_RDONLY | O_CLOEXEC | (file ? O_NOFOLLOW : O_DIRECTORY)));
    if (opened.valid()) {
      is_file = file;
      return opened;
    }
    if (errno != ENOENT) {
      return FailErrno("open " + name, errno);
    }
  }
  is_file = false;
  return Fd();
}

Result<Owners> Parse(const std::string& text, const std::string& path) {
  TRY_ASSIGN(const std::string boot, host::BootId());
  auto owners = ParseOwners(text, boot);
  return owners.has_value() ? owners : std::unexpected(owners.error().In("read " + path));
}

}  // namespace

OwnersReader::OwnersReader(const std::string& directory)
    : path_(JoinPath(directory, kOwnersFile)) {}

// A file that was replaced before it was locked keeps no writer waiting: its writer may have seen
// it free.
Result<Fd> OwnersReader::OpenNewest(bool& is_file) const {
  while (true) {
    TRY_ASSIGN(Fd file, OpenFileOrFolder(path_, is_file));
    if (file.valid() && ::flock(file.get(), LOCK_SH) != 0) {
      return FailErrno("lock " + path_, errno);
    }
    bool still_file = false;
    TRY_ASSIGN(const Fd now, OpenFileOrFolder(path_, still_file));
    if (IsSame(file, now)) {
      return file;
    }
  }
}

Result<std::optional<Owners>> OwnersReader::Take() {
  bool is_file = false;
  TRY_ASSIGN(Fd file, OpenNewest(is_file));
  if (taken_ && IsSame(file, newest_)) {
    return std::nullopt;
  }
  taken_ = true;
  earlier_.push_back(std::exchange(newest_, std::move(file)));
  if (!is_file) {
    return Owners();
  }
  TRY_ASSIGN(const std::string text, ReadDescriptor(newest_.get(), path_));
  TRY_ASSIGN(Owners owners, Parse(text, path_));
  return owners;
}

void OwnersReader::CarriedOut() { earlier_.clear(); }

OwnersWriter::OwnersWriter(const std::string& directory, std::string program)
    : path_(JoinPath(directory, kOwnersFile)), program_(std::move(program)) {}

Result<Owners> OwnersWriter::Read() const {
  const auto text = ReadFile(path_);
  if (!text.has_value()) {
    return text.error().kind == ErrorKind::kNotFound ? Result<Owners>(Owners())
                                                     : std::unexpected(text.error());
  }
  auto owners = Parse(*text, path_);
  if (!owners.has_value()) {
    log::Warning("{}; it is replaced", owners.error().message);
    return Owners();
  }
  return owners;
}

Result<Owners> OwnersWriter::Owned() const {
  TRY_ASSIGN(const Owners owners, Read());
  return OwnedBy(owners, program_);
}

Result<std::pair<Owners, bool>> OwnersWriter::Replace(const Owners& mine,
                                                      std::chrono::milliseconds limit,
                                                      std::string& late) const {
  TRY_ASSIGN(const std::string boot, host::BootId());
  // Others change their part between reading and writing.
  TRY_ASSIGN(Fd lock, host::LockFile(path_ + ".lock", kReplaced));
  bool is_file = false;
  TRY_ASSIGN(const Fd earlier, OpenFileOrFolder(path_, is_file));
  TRY_ASSIGN(Owners before, Read());
  TRY_ASSIGN(const Owners wanted, WithOwned(before, program_, mine));
  if (wanted.empty() && before.empty() && is_file) {
    return std::pair(std::move(before), true);
  }
  TRY(host::WriteFileAtomic(path_, OwnersText(wanted, boot)));
  lock = Fd();
  TRY_ASSIGN(const bool free, host::LockWithin(earlier, limit));
  if (!free) {
    late = host::HoldersText(earlier);
  }
  return std::pair(std::move(before), free);
}

Status OwnersWriter::Take(const Owners& mine, std::chrono::milliseconds limit) const {
  std::string late;
  TRY_ASSIGN(const auto replaced, Replace(mine, limit, late));
  if (replaced.second) {
    return {};
  }
  std::string ignored;
  TRY(Replace(OwnedBy(replaced.first, program_), std::chrono::milliseconds(0), ignored));
  return Fail(ErrorKind::kTimeout,
              format("{} has not let go of the GPUs after {} s", late, limit.count() / 1000));
}

Result<bool> OwnersWriter::GiveBack(std::chrono::milliseconds limit) const {
  TRY_ASSIGN(const Owners owned, Owned());
  if (owned.empty()) {
    return true;
  }
  std::string late;
  TRY_ASSIGN(const auto replaced, Replace({}, limit, late));
  return replaced.second;
}

}  // namespace gantry::gpu
