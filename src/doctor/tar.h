// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

// A tar archive that every tar can read (POSIX.1-1988 ustar): regular files only.
namespace gantry::doctor {

// The header of a file of `size` bytes, which follow it, padded with TarPadding. kInvalid: the path
// does not fit the format (more than 100 bytes after the last '/', or 155 before it), or the file
// is larger than 8 GiB.
Result<std::string> TarHead(std::string_view path, size_t size, WallTime modified);

// NUL bytes up to the next block.
std::string TarPadding(size_t size);

// The end of an archive.
std::string TarEnd();

}  // namespace gantry::doctor
