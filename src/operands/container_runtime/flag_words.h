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
  std::vector<std::string> names;  // the first is the one it is asked by
  enum class Takes { kNothing, kValue } takes = Takes::kValue;
  std::vector<std::string> variables = {};  // of the environment, read if the flag is not there
};

// What stands on a command line. A flag that is there more than once has all of its values; a value
// from the environment is split at commas.
class FlagWords {
 public:
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;
  // kInvalid names an unknown flag, or one without its value.
  static Result<FlagWords> Parse(const std::vector<std::string>& words,
                                 const std::vector<Flag>& flags, const Environment& environment);

  [[nodiscard]] bool Has(const std::string& name) const { return values_.contains(name); }
  // A switch that is on.
  [[nodiscard]] bool On(const std::string& name) const;
  // The last value.
  [[nodiscard]] std::string Text(const std::string& name, const std::string& fallback = "") const;
  // Every value, each split at commas.
  [[nodiscard]] std::vector<std::string> List(const std::string& name) const;
  // Every value as it was written.
  [[nodiscard]] std::vector<std::string> Values(const std::string& name) const;
  // Words that are no flags.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> rest_;
};

}  // namespace gantry::container_runtime
