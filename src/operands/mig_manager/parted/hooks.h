// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace gantry::mig_parted {

// When hooks run (keys of the hooks file).
inline constexpr char kApplyStart[] = "apply-start";
inline constexpr char kPreApplyMode[] = "pre-apply-mode";
inline constexpr char kPreApplyConfig[] = "pre-apply-config";
inline constexpr char kApplyExit[] = "apply-exit";

struct Hook {
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, std::string> envs;
  std::string workdir;  // empty: ours
  bool operator==(const Hook&) const = default;
};

using Hooks = std::map<std::string, std::vector<Hook>>;

// The hooks file (version v1, YAML or JSON). kInvalid names the key's path.
Result<Hooks> ParseHooks(std::string_view text);

// NAME=VALUE, all that a hook gets: its own variables and `common`, of which the latter win.
std::vector<std::string> HookEnvironment(const Hook& hook,
                                         const std::map<std::string, std::string>& common);

}  // namespace gantry::mig_parted
