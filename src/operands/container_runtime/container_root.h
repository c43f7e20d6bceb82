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

// The permission bits of a file, and of the folder that it lies in if that has to be made.
struct NewModes {
  unsigned file = 0644;
  unsigned folder = 0755;
};

// What lies in a folder.
struct FolderEntry {
  enum class Kind { kFile, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
};

// The root file system of a container that is being made. Every path is as the container will spell
// it and never leads out of the root, whatever links the image holds.
class ContainerRoot {
 public:
  // `path`: the root as this process sees it. kNotFound if it is not there.
  static Result<ContainerRoot> Open(const std::string& path);

  // Makes (or turns) the symbolic links, with the folders above them; no write where one is right
  // already. Links of one folder that follow each other cost one system call each.
  [[nodiscard]] Status Link(const std::vector<SymbolicLink>& links) const;
  // Makes the file of these parts, with the folders above it; one that is there is replaced in one
  // step.
  [[nodiscard]] Status Write(std::string_view path, std::initializer_list<std::string_view> content,
                             NewModes modes = {}) const;
  // kNotFound if there is none; at most 64 MiB.
  [[nodiscard]] Result<std::string> Read(std::string_view path) const;
  // What a folder holds, by name; empty if there is none.
  [[nodiscard]] std::vector<FolderEntry> Entries(std::string_view folder) const;
  [[nodiscard]] std::vector<std::string> List(std::string_view folder) const;
  // Whether both are there and one file, whatever links lead to it.
  [[nodiscard]] bool SameFile(std::string_view a, std::string_view b) const;
  [[nodiscard]] bool Exists(std::string_view path) const;
  // Sets permission bits of what is there, unless they are right.
  [[nodiscard]] Status ChangeMode(std::string_view path, unsigned mode) const;
  // An open file (O_PATH allowed) for what has no method here.
  [[nodiscard]] Result<Fd> OpenAt(std::string_view path, int flags) const;

 private:
  explicit ContainerRoot(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  [[nodiscard]] Result<Fd> Folder(std::string_view path, unsigned mode = 0755) const;

  std::string path_;
  Fd fd_;
};

}  // namespace gantry::container_runtime
