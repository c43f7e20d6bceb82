// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace gantry {

// Environment variables of this process, set while the object exists and unset after it.
class Variables {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;
  explicit Variables(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : values_) {
      unsetenv(name.c_str());
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  const Values values_;
};

}  // namespace gantry
