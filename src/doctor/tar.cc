// SPDX-License-Identifier: Apache-2.0
// How is a file written into a tar archive? POSIX.1-1988, "ustar": a block of 512 bytes with
// numbers in octal, then the content in full blocks. For regular files with short names that is
// all, so no library is linked.
#include "doctor/tar.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::doctor {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kNameSize = 100;
constexpr size_t kPrefixSize = 155;
constexpr size_t kMostBytes = 8ULL << 30U;  // eleven octal digits hold no more

void Put(std::string& block, size_t at, std::string_view text) {
  std::ranges::copy(text, block.begin() + static_cast<long>(at));
}

}  // namespace

Result<std::string> TarHead(std::string_view path, size_t size, WallTime modified) {
  // The format joins prefix and name with a '/', at any position.
  size_t slash = 0;
  if (path.size() > kNameSize) {
    slash = path.find('/', path.size() - kNameSize - 1);
  }
  const bool fits = path.size() <= kNameSize || (slash > 0 && slash <= kPrefixSize);
  if (path.empty() || !fits || size >= kMostBytes) {
    return Fail(ErrorKind::kInvalid, format("archive {}: its path or the file is too long", path));
  }
  const std::string_view prefix = path.substr(0, slash);
  const std::string_view name = prefix.empty() ? path : path.substr(slash + 1);
  const auto seconds = std::chrono::system_clock::to_time_t(modified);
  std::string block(kBlock, '\0');
  Put(block, 0, name);
  Put(block, 100, "0000600");  // mode
  Put(block, 108, "0000000");  // owner
  Put(block, 116, "0000000");  // group
  Put(block, 124, format("{:011o}", size));
  Put(block, 136, format("{:011o}", seconds));  // modified
  Put(block, 148, "        ");                  // the checksum counts as spaces
  Put(block, 156, "0");                         // a regular file
  Put(block, 257, std::string_view("ustar\00000", 8));
  Put(block, 345, prefix);
  unsigned sum = 0;
  for (const char c : block) {
    sum += static_cast<unsigned char>(c);
  }
  Put(block, 148, format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

std::string TarPadding(size_t size) { return std::string((kBlock - size % kBlock) % kBlock, '\0'); }

std::string TarEnd() { return std::string(2 * kBlock, '\0'); }

}  // namespace gantry::doctor
