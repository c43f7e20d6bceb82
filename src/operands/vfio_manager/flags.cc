// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? The subcommands bind and unbind, their flags
// and variables are those of NVIDIA's vfio-manage; manage and restore are ours.
#include "operands/vfio_manager/flags.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "agent/flags.h"
#include "base/text.h"

namespace gantry::vfio_manager {
namespace {

struct Row {
  std::string_view name;
  Word word;
  const char* help;
};
constexpr std::array kWords = std::to_array<Row>({
    {"bind", Word::kBind, "binds GPUs to their drivers for virtual machines"},
    {"unbind", Word::kUnbind, "takes GPUs from their drivers for virtual machines"},
    {"manage", Word::kManage, "binds all GPUs, and keeps them bound"},
    {"restore", Word::kRestore, "gives back the GPUs that bind or manage has bound"},
});

std::string Usage() {
  std::string text = format("usage: {} SUBCOMMAND [FLAG...]\n", kProgram);
  for (const Row& row : kWords) {
    text += format("  {:<8} {}\n", row.name, row.help);
  }
  return text;
}

void AddDevices(agent::FlagSet& set, Flags& to, bool& all) {
  set.Bool("-a,--all", all, {}, "all GPUs");
  set.Value("-d,--device-id", to.selection.address, {}, "one device, as 0000:3b:00.0");
}

void AddFlags(agent::FlagSet& set, Flags& to, bool& all) {
  set.Value("--host-root", to.places.host_root, {"HOST_ROOT"},
            "the host's root, with the mounts below it");
  set.Value("--sys", to.places.sys, {}, "sysfs");
  set.Value("--journal", to.places.journal, {}, "keeps which drivers the GPUs had");
  if (to.word == Word::kBind || to.word == Word::kUnbind) {
    AddDevices(set, to, all);
  }
  set.Bool("--bind-nvswitches,--unbind-nvswitches", to.selection.switches, {"BIND_NVSWITCHES"},
           "NVSwitches too");
  if (to.word == Word::kManage) {
    set.Value("-n,--node-name", to.node_name, {names::kNodeName}, "the Node that this runs on");
    set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "empty: in-cluster");
    set.Value("--status-dir", to.status_dir, {}, "")->default_val(names::kValidationsDir);
  }
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "-h" || name == "--help" || name == "help") {
    std::fputs(Usage().c_str(), stdout);
    return std::nullopt;
  }
  const auto* const row = std::ranges::find(kWords, name, &Row::name);
  if (row == kWords.end()) {
    return Fail(ErrorKind::kInvalid, format("no subcommand '{}'\n{}", name, Usage()));
  }
  agent::FlagSet set(format("{} {}", kProgram, row->name), row->help);
  Flags flags;
  flags.word = row->word;
  bool all = false;
  AddFlags(set, flags, all);
  std::vector<const char*> rest(argv + 1, argv + argc);
  TRY_ASSIGN(const bool run, set.Parse(static_cast<int>(rest.size()), rest.data()));
  if (!run) {
    return std::nullopt;
  }
  const bool chosen = flags.word == Word::kBind || flags.word == Word::kUnbind;
  if (chosen && all != flags.selection.address.empty()) {
    return Fail(ErrorKind::kInvalid, "exactly one of --all and --device-id is needed");
  }
  return flags;
}

}  // namespace gantry::vfio_manager
