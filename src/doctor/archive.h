// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace gantry::doctor {

// A .tar.gz that is written as its files come. Under its name it stands only when it is whole:
// until then it is `path` with ".partial" behind it, which goes with the object; what stood under
// that name before is removed. Not thread-safe.
class Archive {
 public:
  // `path` "-": standard output. Files lie in `folder` of the archive, and bear the time `now`. The
  // file can be read by its owner alone. kDenied, kNotFound and others: of open(2).
  static Result<std::unique_ptr<Archive>> Create(const std::string& path, std::string folder,
                                                 WallTime now);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  // kInvalid: that file has no place in a tar archive, and others may follow. Other errors are of
  // write(2), and end it.
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
