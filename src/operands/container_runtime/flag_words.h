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

// What stands on a command line. A flag that is there more than once has all of its values.
class FlagWords {
 public:
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;
  // kInvalid names an unknown flag, one without its value, or the flag or variable of a switch that
  // is no boolean.
  static Result<FlagWords> Parse(const std::vector<std::string>& words,
                                 const std::vector<Flag>& flags, const Environment& environment);

  // A switch that is on.
  [[nodiscard]] bool On(const std::string& name) const;
  // The last value; an empty one stands for the fallback, as no value does.
  [[nodiscard]] std::string Text(const std::string& name, const std::string& fallback = "") const;
  // Every value, each split at commas; the fallback if nothing is in them.
  [[nodiscard]] std::vector<std::string> List(const std::string& name,
                                              const std::vector<std::string>& fallback = {}) const;
  // Every value as it was written: for flags of which an empty one says something.
  [[nodiscard]] std::vector<std::string> Values(const std::string& name) const;
  // Words that are no flags.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> rest_;
};

}  // namespace gantry::container_runtime
