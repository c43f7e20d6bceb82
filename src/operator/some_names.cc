// SPDX-License-Identifier: Apache-2.0

// How does a message name many nodes? By the first few.

#include "operator/some_names.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator {

std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<long>(std::min(names.size(), kShown)));
  std::string text = Join(shown, ", ");
  if (names.size() > kShown) {
    text += format(" and {} more", names.size() - kShown);
  }
  return text;
}

}  // namespace gantry::gpu_operator
