// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

namespace gantry::container_runtime {

struct SymbolicLink {
  std::string target;
  std::string path;
  bool operator==(const SymbolicLink&) const = default;
};

// The permission bits of a file, and of its folder if that must be made.
struct NewModes {
  unsigned file = 0644;
  unsigned folder = 0755;
};

// An entry of a folder.
struct FolderEntry {
  enum class Kind { kFile, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
};

// The root file system of a container that is being created. Every path is as the container will
// spell it and never leads out of the root, whatever links the image has.
class ContainerRoot {
 public:
  // `path`: the root as this process sees it. kNotFound if it does not exist.
  static Result<ContainerRoot> Open(const std::string& path);

  // Makes (or changes) the symbolic links, with their parent folders; does not write a link that is
  // already right. Adjacent links of one folder cost one system call each.
  [[nodiscard]] Status Link(const std::vector<SymbolicLink>& links) const;
  // Makes a file from these parts, with its parent folders; an existing file is replaced in one
  // step.
  [[nodiscard]] Status Write(std::string_view path, std::initializer_list<std::string_view> content,
                             NewModes modes = {}) const;
  // kNotFound if there is none; at most 64 MiB.
  [[nodiscard]] Result<std::string> Read(std::string_view path) const;
  // The entries of a folder, by name; empty if there is none.
  [[nodiscard]] std::vector<FolderEntry> Entries(std::string_view folder) const;
  [[nodiscard]] std::vector<std::string> List(std::string_view folder) const;
  // Whether both exist and are the same file, through any links.
  [[nodiscard]] bool SameFile(std::string_view a, std::string_view b) const;
  [[nodiscard]] bool Exists(std::string_view path) const;
  // Sets permission bits of an existing file, unless they are right.
  [[nodiscard]] Status ChangeMode(std::string_view path, unsigned mode) const;
  // An open file (O_PATH allowed) for other operations.
  [[nodiscard]] Result<Fd> OpenAt(std::string_view path, int flags) const;

 private:
  explicit ContainerRoot(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  [[nodiscard]] Result<Fd> Folder(std::string_view path, unsigned mode = 0755) const;

  std::string path_;
  Fd fd_;
};

}  // namespace gantry::container_runtime
