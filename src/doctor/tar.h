// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

// A tar archive, as every tar reads it (POSIX.1-1988 ustar): regular files only.
namespace gantry::doctor {

// The head of a file of `size` bytes, which follow it, filled up with TarPadding. kInvalid: the
// path has no place in the format (more than 100 bytes after the last '/', or 155 before it), or
// the file is larger than 8 GiB.
Result<std::string> TarHead(std::string_view path, size_t size, WallTime modified);

// NUL bytes up to the next block.
std::string TarPadding(size_t size);

// What ends an archive.
std::string TarEnd();

}  // namespace gantry::doctor
