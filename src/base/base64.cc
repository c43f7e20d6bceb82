// SPDX-License-Identifier: Apache-2.0
// Which bytes does a base64 field hold?
#include "base/base64.h"

#include "base/text.h"

namespace gantry {

Result<std::string> DecodeBase64(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    unsigned value = 0;
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      continue;
    }
    if (c == '=') {
      ++padding;
      continue;
    }
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<unsigned>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<unsigned>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is not base 64", c));
    }
    if (padding > 0) {
      return Fail(ErrorKind::kInvalid, "characters follow the padding of base 64");
    }
    bits = (bits << 6U) | value;
    if (++count % 4 != 1) {
      decoded +=
          static_cast<char>((bits >> (6U - 2U * (static_cast<unsigned>(count + 3) % 4U))) & 0xFFU);
    }
  }
  if ((count + padding) % 4 != 0 || padding > 2) {
    return Fail(ErrorKind::kInvalid, "base 64 ends too early");
  }
  return decoded;
}

}  // namespace gantry
