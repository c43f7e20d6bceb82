// SPDX-License-Identifier: Apache-2.0
// How are nvidia-ctk's command lines parsed? By hand: a command-line library would take a third of
// the start time of the hook, which shares this binary.
#include "operands/container_runtime/flag_words.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::container_runtime {
namespace {

const Flag* Find(const std::vector<Flag>& flags, const std::string& name) {
  const auto found = std::ranges::find_if(flags, [&](const Flag& flag) {
    return std::ranges::find(flag.names, name) != flag.names.end();
  });
  return found == flags.end() ? nullptr : &*found;
}

}  // namespace

Result<FlagWords> FlagWords::Parse(const std::vector<std::string>& words,
                                   const std::vector<Flag>& flags, const Environment& environment) {
  FlagWords read;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-') || word == "-") {
      read.rest_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    const Flag* flag = Find(flags, name);
    if (flag == nullptr) {
      return Fail(ErrorKind::kInvalid, format("read {}: there is no such flag", word));
    }
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (flag->takes == Flag::Takes::kValue) {
      if (i + 1 == words.size()) {
        return Fail(ErrorKind::kInvalid, format("read {}: its value is missing", word));
      }
      value = words[++i];
    }
    if (const auto on = ParseBool(value); flag->takes == Flag::Takes::kNothing && !on) {
      return std::unexpected(on.error().In("read " + word));
    }
    read.values_[flag->names.front()].push_back(value);
  }
  for (const Flag& flag : flags) {
    for (const std::string& variable : flag.variables) {
      const auto value = environment(variable);
      if (!value || value->empty() || read.values_.contains(flag.names.front())) {
        continue;
      }
      if (const auto on = ParseBool(*value); flag.takes == Flag::Takes::kNothing && !on) {
        return std::unexpected(on.error().In("read " + variable));
      }
      read.values_[flag.names.front()] = {*value};
    }
  }
  return read;
}

bool FlagWords::On(const std::string& name) const {
  return ParseBool(Text(name, "false")).value_or(false);
}

std::string FlagWords::Text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.back().empty() ? fallback : found->second.back();
}

std::vector<std::string> FlagWords::Values(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> FlagWords::List(const std::string& name,
                                         const std::vector<std::string>& fallback) const {
  std::vector<std::string> all;
  for (const std::string& value : Values(name)) {
    for (const std::string& part : Split(value, ',')) {
      if (!Trim(part).empty()) {
        all.emplace_back(Trim(part));
      }
    }
  }
  return all.empty() ? fallback : all;
}

}  // namespace gantry::container_runtime
