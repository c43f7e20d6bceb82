// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace gantry::doctor {

// The meaning of a program's message: the parts of a finding.
struct Meaning {
  std::string_view words;
  std::string_view code;
  std::string_view message;
  std::string_view remedy;
  long long exit_code = 0;  // not 0: only for a container with this exit code
};

// The first whose words the text contains; nullptr: none. `exit_code` is the container's.
inline const Meaning* Find(std::span<const Meaning> meanings, std::string_view text,
                           long long exit_code = 0) {
  const auto found = std::ranges::find_if(meanings, [&](const Meaning& meaning) {
    return text.find(meaning.words) != std::string_view::npos &&
           (meaning.exit_code == 0 || meaning.exit_code == exit_code);
  });
  return found == meanings.end() ? nullptr : &*found;
}

}  // namespace gantry::doctor
