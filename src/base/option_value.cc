// SPDX-License-Identifier: Apache-2.0
// What is the value of an option on another program's command line?
#include "base/option_value.h"

namespace gantry {

std::string OptionValue(const std::vector<std::string>& words,
                        const std::vector<std::string>& names) {
  std::string value;
  for (size_t i = 1; i < words.size(); ++i) {
    for (const std::string& name : names) {
      if (words[i] == name && i + 1 < words.size()) {
        value = words[i + 1];
      } else if (words[i].starts_with(name + "=")) {
        value = words[i].substr(name.size() + 1);
      }
    }
  }
  return value;
}

}  // namespace gantry
