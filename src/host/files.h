// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/paths.h"

// Changing files of the node, most of them under the folder where the host's root is mounted.
// Reading and resolving is base/paths.h.
namespace gantry::host {

enum class FileKind { kAbsent, kFile, kDirectory, kSymlink, kOther };

struct FileInfo {
  FileKind kind = FileKind::kAbsent;
  mode_t mode = 0;  // permission bits only
  uid_t uid = 0;
  gid_t gid = 0;
  long long size = 0;
  long long modified_ns = 0;  // since the epoch
};

// What is at the path itself, a symbolic link not followed. kAbsent is not an error.
Result<FileInfo> Inspect(const std::string& path);

// Replaces the file in one step: a reader sees the old or the new content, also after a power cut.
// An existing file keeps its mode and owner; a new one gets `mode` (umask ignored). The folder must
// exist. If the path is a symbolic link, the link is replaced.
Status WriteFileAtomic(const std::string& path, std::string_view content, mode_t mode = 0644);
// The same with the bytes of another file, without holding them in memory.
Status CopyFileAtomic(const std::string& from, const std::string& path, mode_t mode = 0644);

// Distinguishes contents that were not forged to collide (FNV-1a and the size). Reads the file in
// pieces. kNotFound if it does not exist.
std::string Fingerprint(std::string_view content);
Result<std::string> FileFingerprint(const std::string& path);

// Where it writes before it renames. A killed writer may leave that file; the next writer reuses
// it.
std::string TemporaryPathOf(const std::string& path);

// The same, unless the file already has that content; true if it was written.
Result<bool> WriteIfDifferent(const std::string& path, std::string_view content,
                              mode_t mode = 0644);

// Makes the directory and the missing ones above it, mode as given (umask ignored). Returns those
// that it made, outermost first.
Result<std::vector<std::string>> MakeDirectories(const std::string& path, mode_t mode = 0755);

// Removes a file or symbolic link; absent is success.
Status RemoveFile(const std::string& path);

}  // namespace gantry::host
