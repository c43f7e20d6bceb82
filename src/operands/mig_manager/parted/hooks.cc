// SPDX-License-Identifier: Apache-2.0
// Which programs does a hooks file name, and what do they get?
#include "operands/mig_manager/parted/hooks.h"

#include <initializer_list>

#include "base/json.h"
#include "base/text.h"
#include "operands/mig_manager/strict_keys.h"
#include "policy/yaml.h"

namespace gantry::mig_parted {
namespace {

using mig_manager::Refused;

Status CheckMap(const Json& map, const std::string& path,
                std::initializer_list<std::string_view> known) {
  if (!map.is_object()) {
    return Refused(path.empty() ? "hooks file" : path, "not a map");
  }
  const auto unknown = mig_manager::UnknownKey(map, path, known);
  return unknown ? Refused(*unknown, "unknown key") : Status();
}

Result<std::string> TextOf(const Json& value, const std::string& path) {
  return value.is_string() ? Result<std::string>(value.get<std::string>())
                           : Refused(path, "not a string");
}

Result<Hook> ParseHook(const Json& value, const std::string& path) {
  TRY(CheckMap(value, path, {"command", "args", "envs", "workdir"}));
  Hook hook;
  TRY_ASSIGN(hook.command, TextOf(value.value("command", Json()), path + ".command"));
  TRY_ASSIGN(hook.workdir, TextOf(value.value("workdir", Json("")), path + ".workdir"));
  const Json args = value.value("args", Json::array());
  const Json envs = value.value("envs", Json::object());
  if (!args.is_array()) {
    return Refused(path + ".args", "not a list");
  }
  if (!envs.is_object()) {
    return Refused(path + ".envs", "not a map");
  }
  for (size_t i = 0; i < args.size(); ++i) {
    TRY_ASSIGN(hook.args.emplace_back(), TextOf(args[i], format("{}.args[{}]", path, i)));
  }
  for (const auto& [name, variable] : envs.items()) {
    TRY_ASSIGN(hook.envs[name], TextOf(variable, format("{}.envs.{}", path, name)));
  }
  return hook;
}

}  // namespace

Result<Hooks> ParseHooks(std::string_view text) {
  TRY_ASSIGN(const Json document, policy::ParseYaml(text));
  TRY(CheckMap(document, "", {"version", "hooks"}));
  if (document.value("version", Json()) != "v1") {
    return Refused("version", "must be v1");
  }
  const Json all = document.value("hooks", Json::object());
  TRY(CheckMap(all, "hooks", {kApplyStart, kPreApplyMode, kPreApplyConfig, kApplyExit}));
  Hooks hooks;
  for (const auto& [name, list] : all.items()) {
    const std::string path = "hooks." + name;
    if (!list.is_array()) {
      return Refused(path, "not a list");
    }
    for (size_t i = 0; i < list.size(); ++i) {
      TRY_ASSIGN(hooks[name].emplace_back(), ParseHook(list[i], format("{}[{}]", path, i)));
    }
  }
  return hooks;
}

std::vector<std::string> HookEnvironment(const Hook& hook,
                                         const std::map<std::string, std::string>& common) {
  std::map<std::string, std::string> all = common;
  all.insert(hook.envs.begin(), hook.envs.end());
  std::vector<std::string> environment;
  environment.reserve(all.size());
  for (const auto& [name, value] : all) {
    environment.push_back(format("{}={}", name, value));
  }
  return environment;
}

}  // namespace gantry::mig_parted
