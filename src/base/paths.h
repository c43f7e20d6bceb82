// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Paths, and reading below a root: a folder under which another root file system is mounted. A
// "host path" is absolute as a process of that other root spells it; a "path" is as this process
// does.
namespace gantry {

// The entire file. kNotFound if it does not exist.
Result<std::string> ReadFile(const std::string& path);

// The rest of an open file; `name` is for the message of an error.
Result<std::string> ReadDescriptor(int fd, std::string_view name);

// Writes all of the content to an open file; `name` as above.
Status WriteDescriptor(int fd, std::string_view content, std::string_view name);

// Names in a directory, sorted, without "." and "..". An absent directory is empty.
Result<std::vector<std::string>> ListDirectory(const std::string& path);

// The file that a process with that root would reach at `host_path`, spelled as for this process.
// Every symbolic link on the way is resolved inside the root, also absolute ones and "..". Last
// components that do not exist are appended as written. kInvalid for a loop of links.
Result<std::string> ResolveInRoot(const std::string& root, std::string_view host_path);

// The reverse: `path` below `root` as the host spells it ("/host", "/host/etc/x" -> "/etc/x").
// Nullopt if it is not below the root.
std::optional<std::string> WithoutRoot(std::string_view root, std::string_view path);

// "/a" + "b" and "/a/" + "/b" -> "/a/b"; "/" + "/b" -> "/b".
std::string JoinPath(std::string_view a, std::string_view b);
// Without the last component; "/" for an entry of the root.
std::string ParentOf(std::string_view path);
// The last component.
std::string BaseName(std::string_view path);

// Paths below `root` that match a pattern with `*` and `?` in any component (as glob(3)), sorted,
// as this process spells them. Symbolic links on the way are resolved inside the root.
Result<std::vector<std::string>> GlobInRoot(const std::string& root, std::string_view pattern);

// A file descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

}  // namespace gantry
