// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::container_runtime {

// A flag of a command line: "--name value", "--name=value", or for a switch "--name",
// "--name=false".
struct Flag {
  std::vector<std::string> names;  // the first is its key
  enum class Takes { kNothing, kValue } takes = Takes::kValue;
  std::vector<std::string> variables = {};  // of the environment, read without the flag
};

// A parsed command line. A repeated flag has all of its values.
class FlagWords {
 public:
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;
  // kInvalid names an unknown flag, one without its value, or the flag or variable of a switch that
  // is not a boolean.
  static Result<FlagWords> Parse(const std::vector<std::string>& words,
                                 const std::vector<Flag>& flags, const Environment& environment);

  // Whether a switch is on.
  [[nodiscard]] bool On(const std::string& name) const;
  // The last value; the fallback if it is empty or absent.
  [[nodiscard]] std::string Text(const std::string& name, const std::string& fallback = "") const;
  // Every value, each split at commas; the fallback if they are empty.
  [[nodiscard]] std::vector<std::string> List(const std::string& name,
                                              const std::vector<std::string>& fallback = {}) const;
  // Every value as written: for flags whose empty value has a meaning.
  [[nodiscard]] std::vector<std::string> Values(const std::string& name) const;
  // Positional arguments.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> rest_;
};

}  // namespace gantry::container_runtime
