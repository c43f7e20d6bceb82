// SPDX-License-Identifier: Apache-2.0
// Which configuration of a ConfigMap is this node's? The order is that of NVIDIA's config manager:
// label, default, then the fallbacks named ("the file `default`"), single ("the only file") and
// empty. A label or a default that names nothing is an error: another sharing than the one asked
// for would give pods GPUs that they must not have.
#include "operands/device_plugin/config_source.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::device_plugin {
namespace {

constexpr char kNamed[] = "default";

Result<std::string> Existing(const std::string& name, std::string_view asked_by,
                             const std::vector<std::string>& names) {
  if (std::ranges::find(names, name) != names.end()) {
    return name;
  }
  return Fail(ErrorKind::kNotFound,
              format("choose a configuration: {} asks for '{}', there is {}", asked_by, name,
                     names.empty() ? "none" : Join(names, ", ")));
}

}  // namespace

Result<std::string> ChooseConfig(const ConfigChoice& choice,
                                 const std::vector<std::string>& names) {
  if (choice.label && !choice.label->empty()) {
    return Existing(*choice.label, "the node's label", names);
  }
  if (!choice.default_config.empty()) {
    return Existing(choice.default_config, "DEFAULT_CONFIG", names);
  }
  for (const auto& fallback : choice.fallbacks) {
    if (fallback == "named") {
      if (std::ranges::find(names, kNamed) != names.end()) {
        return kNamed;
      }
    } else if (fallback == "single") {
      if (names.size() == 1) {
        return names.front();
      }
    } else if (fallback == "empty") {
      return "";
    } else {
      return Fail(ErrorKind::kInvalid,
                  format("fallback-strategies: unknown value '{}' (one of named, single, empty)",
                         fallback));
    }
  }
  // A node without a label and without anything to fall back on shares nothing.
  return "";
}

std::vector<std::string> ConfigNames(const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  std::ranges::copy_if(entries, std::back_inserter(names),
                       [](const std::string& name) { return !name.starts_with(".."); });
  return names;
}

}  // namespace gantry::device_plugin
