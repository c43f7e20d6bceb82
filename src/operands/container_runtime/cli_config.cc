// SPDX-License-Identifier: Apache-2.0
// What does `nvidia-ctk config` do? It prints config.toml, or sets keys; `config default` prints
// the unedited file.
#include "base/paths.h"
#include "base/text.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/runtime_config.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {
namespace {

using Takes = Flag::Takes;

}  // namespace

Status ConfigCommand(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags, FlagWords::Parse(call.words,
                                                     {{{"config-file", "config", "c"}},
                                                      {{"set"}},
                                                      {{"set-list-separator"}},
                                                      {{"in-place", "i"}, Takes::kNothing},
                                                      {{"output", "o"}}},
                                                     call.environment));
  const std::string word = flags.rest().empty() ? "" : flags.rest().front();
  if (word == "default" || word == "create-default" || word == "generate-default") {
    return PutOutput(flags.Text("output"), DefaultConfigText());
  }
  if (!word.empty()) {
    return Fail(ErrorKind::kInvalid, format("read {}: config has no such command", word));
  }
  std::string path = flags.Text("config-file", FindConfigFile());
  if (path.empty()) {
    path = DefaultConfigFile();
  }
  const auto there = ReadFile(path);
  if (!there && there.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(there.error());
  }
  std::string text = there.value_or(DefaultConfigText());
  for (const std::string& assignment : flags.Values("set")) {
    const size_t equals = assignment.find('=');
    const auto value = equals == std::string::npos
                           ? std::nullopt
                           : std::optional(std::string_view(assignment).substr(equals + 1));
    TRY_ASSIGN(text, SetConfigKey(text, assignment.substr(0, equals), value,
                                  flags.Text("set-list-separator", ":")));
  }
  TRY(ParseRuntimeConfig(text));
  return PutOutput(flags.On("in-place") ? path : flags.Text("output"), text);
}

}  // namespace gantry::container_runtime
