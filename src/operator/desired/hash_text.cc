// SPDX-License-Identifier: Apache-2.0

// How do names and annotations hold long values?

#include "operator/desired/hash_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace gantry::gpu_operator {

std::string HashText(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return std::to_string(hash);
}

std::string Hash(const Json& object) { return HashText(object.dump()); }

// Without vowels, so that no word results by chance.
std::string ShortHash(std::string_view text) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string encoded;
  std::ranges::transform(HashText(text), std::back_inserter(encoded), [&](char c) {
    return kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  });
  return encoded;
}

std::string FitName(const std::string& name, const std::string& suffix, size_t longest,
                    std::string_view identity) {
  if (name.size() + suffix.size() <= longest) {
    return name + suffix;
  }
  const std::string told = "-" + ShortHash(identity) + suffix;
  return name.substr(0, longest - std::min(longest, told.size())) + told;
}

}  // namespace gantry::gpu_operator
