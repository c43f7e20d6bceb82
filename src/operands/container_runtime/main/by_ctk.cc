// SPDX-License-Identifier: Apache-2.0
// Which calls does gantry-runtime delegate to gantry-ctk? A command of nvidia-ctk, and a CDI
// document in YAML: gantry-ctk is in the same folder, linked with glibc, and has everything. The
// entire call starts again in that program.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "container/yaml_text.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry {
namespace {

// Returns only after an error.
Status BecomeCtk() {
  TRY_ASSIGN(const std::string own, ReadFile("/proc/self/cmdline"));
  std::vector<std::string> words = Split(own, '\0');
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.back() = nullptr;  // what follows the last word's end
  const std::string program = JoinPath(container_runtime::OwnFolder(), "gantry-ctk");
  ::execv(program.c_str(), argv.data());
  return FailErrno("start " + program, errno);
}

}  // namespace

namespace container {

Result<Json> ParseYaml(std::string_view /*text*/) {
  return std::unexpected(BecomeCtk().error().In("read yaml"));
}

}  // namespace container

namespace container_runtime {

int RunToolkitCli(const std::string& name, const std::vector<std::string>& /*words*/) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), BecomeCtk().error().message.c_str());
  return 1;
}

}  // namespace container_runtime
}  // namespace gantry
