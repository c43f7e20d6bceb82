// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace gantry::doctor {

// A .tar.gz that is written file by file. It has its name only when it is complete: until then it
// is `path` with ".partial" appended, which is removed with the object, as is an earlier file of
// that name. Not thread-safe.
class Archive {
 public:
  // `path` "-": standard output. The archive's files are in its folder `folder`, with the time
  // `now`. Only the owner can read the archive. kDenied, kNotFound and others: from open(2).
  static Result<std::unique_ptr<Archive>> Create(const std::string& path, std::string folder,
                                                 WallTime now);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // kInvalid: that file does not fit into a tar archive; others may follow. Other errors are from
  // write(2), and end the archive.
  Status Add(std::string_view path, std::string_view content);
  Status Finish();

  [[nodiscard]] size_t files() const;
  [[nodiscard]] size_t bytes() const;  // written so far, compressed

 private:
  struct Stream;
  explicit Archive(std::unique_ptr<Stream> stream);
  const std::unique_ptr<Stream> stream_;
};

}  // namespace gantry::doctor
