// SPDX-License-Identifier: Apache-2.0
// Which device plugin configuration does a node use? Every node mounts a ConfigMap with several
// files; a node label picks one. A label that names a missing file is an error and not the default:
// the user did not choose the default's sharing.
#include "policy/plugin_config_choice.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gantry::policy {

Result<std::string> ChooseConfig(const ConfigChoice& choice,
                                 const std::vector<std::string>& files) {
  std::vector<std::string> names;
  std::ranges::copy_if(files, std::back_inserter(names),
                       [](const std::string& name) { return !name.starts_with(".."); });
  const std::string there = names.empty() ? "none" : Join(names, ", ");
  const auto has = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const auto& [asks, wanted] :
       {std::pair<const char*, const std::string&>{"the node's label", choice.label},
        {"DEFAULT_CONFIG", choice.default_name}}) {
    if (!wanted.empty()) {
      return has(wanted) ? Result<std::string>(wanted)
                         : Fail(ErrorKind::kInvalid,
                                format("choose a configuration: {} asks for '{}', there is {}",
                                       asks, wanted, there));
    }
  }
  for (const std::string& fallback : choice.fallbacks) {
    if (fallback == "named" && has("default")) {
      return "default";
    }
    if (fallback == "single" && names.size() == 1) {
      return names.front();
    }
    if (fallback == "empty") {
      return "";
    }
    if (fallback != "named" && fallback != "single") {
      return Fail(ErrorKind::kInvalid,
                  format("choose a configuration: unknown fallback strategy '{}' (one of named, "
                         "single, empty)",
                         fallback));
    }
  }
  return Fail(ErrorKind::kInvalid,
              format("choose a configuration: neither the node's label nor DEFAULT_CONFIG names "
                     "one, there is {}",
                     there));
}

}  // namespace gantry::policy
