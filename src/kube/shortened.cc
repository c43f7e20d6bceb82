// SPDX-License-Identifier: Apache-2.0
// Where may a string be cut? UTF-8 (RFC 3629): every byte of a character but its first is 10xxxxxx.
#include "kube/shortened.h"

namespace gantry::kube {

std::string Shortened(std::string_view text, size_t limit) {
  if (text.size() > limit) {
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
      --limit;
    }
    text = text.substr(0, limit);
  }
  return std::string(text);
}

}  // namespace gantry::kube
