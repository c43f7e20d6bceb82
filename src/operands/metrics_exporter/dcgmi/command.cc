// SPDX-License-Identifier: Apache-2.0
// What does the command line ask for? What NVIDIA's dcgmi has, as far as an exporter can tell it.
#include "operands/metrics_exporter/dcgmi/command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "agent/flags.h"
#include "base/paths.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::dcgmi {
namespace {

using Word = Command::Word;

constexpr std::string_view kUsage =
    "usage: dcgmi SUBCOMMAND [FLAG...]\n"
    "  discovery -l             lists the GPUs\n"
    "  dmon -e IDS [-d MS] [-c COUNT] [-i GPUS]\n"
    "                           prints fields of the GPUs, by DCGM's ids\n"
    "  dmon -l                  lists the fields\n"
    "  health -c [-j]           reports the health of the GPUs\n"
    "  --version                prints the version\n"
    "The exporter of this node answers, by its socket.\n";

// What NVIDIA's tool has besides.
constexpr auto kNotHere = std::to_array<std::string_view>(
    {"config", "diag", "fieldgroup", "group", "introspect", "mndiag", "modules", "nvlink", "policy",
     "profile", "set", "stats", "test", "topo"});

bool IsThisNode(const std::string& host) {
  const std::string_view name = std::string_view(host).substr(0, host.rfind(':'));
  return name == "localhost" || name == "127.0.0.1" || host.starts_with("unix:");
}

void AddPlace(agent::FlagSet& set, Command& to) {
  const auto host = [](const std::string& text) {
    return IsThisNode(text) ? Status()
                            : Fail(ErrorKind::kInvalid,
                                   format("\"{}\" is not this node; run dcgmi there", text));
  };
  set.Custom("--host", host, {}, "localhost");
  set.Value("--socket", to.socket, {}, "the exporter's socket")
      ->default_val(JoinPath(names::kExporterState, names::kExporterSocket));
}

// All GPUs are DCGM's group 0.
void AddGroup(agent::FlagSet& set) {
  const auto group = [](const std::string& text) {
    return text == "0" || text == "all_gpus"
               ? Status()
               : Fail(ErrorKind::kInvalid, format("there is no group {}, only 0, all GPUs", text));
  };
  set.Custom("-g,--group,--group-id", group, {}, "0: all GPUs");
}

Status ReadGpus(const std::string& text, std::set<unsigned>& into) {
  if (text == "*" || text == "gpu:*") {
    return {};
  }
  for (std::string_view part : Split(text, ',')) {
    constexpr std::string_view kGpu = "gpu:";
    part.remove_prefix(part.starts_with(kGpu) ? kGpu.size() : 0);
    const Result<long long> id = ParseInt(part);
    if (!id || *id < 0 || *id > 9999) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is not a GPU's id", part));
    }
    into.insert(static_cast<unsigned>(*id));
  }
  return {};
}

struct Switches {
  bool list = false;
  bool check = false;
  bool fetch = false;
  std::string set = {};
};

void AddDmon(agent::FlagSet& set, Command& to, Switches& switches, long long& delay,
             long long& count) {
  set.Bool("-l,--list", switches.list, {}, "list the fields");
  set.Value("-e,--field-id", to.fields, {}, "ids of fields, with commas between them");
  set.Value("-d,--delay", delay, {}, "milliseconds between two rows")
      ->check(CLI::Range(1LL, 3'600'000LL));
  set.Value("-c,--count", count, {}, "rows; 0: until it is interrupted")
      ->check(CLI::Range(0LL, 1'000'000'000LL));
  set.Custom(
      "-i,--entity-id", [&to](const std::string& text) { return ReadGpus(text, to.gpus); }, {},
      "ids of GPUs, with commas between them");
  AddGroup(set);
}

void AddHealth(agent::FlagSet& set, Command& to, Switches& switches) {
  AddGroup(set);
  set.Bool("-c,--check", switches.check, {}, "report the health");
  set.Bool("-f,--fetch", switches.fetch, {}, "print what is watched");
  set.Value("-s,--set", switches.set, {}, "accepted: everything is watched");
  set.Bool("-j,--json", to.json, {}, "as JSON");
}

Result<std::optional<Command>> OnlyOne(Command command, bool given, std::string_view missing) {
  if (!given) {
    return Fail(ErrorKind::kInvalid, format("{} is missing\n{}", missing, kUsage));
  }
  return std::optional(std::move(command));
}

}  // namespace

Result<std::optional<Command>> ParseCommand(int argc, const char* const* argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  Command command;
  if (word == "--version" || word == "-v") {
    return std::optional(command);
  }
  if (word.empty() || word == "-h" || word == "--help") {
    std::fputs(kUsage.data(), stdout);
    return std::nullopt;
  }
  if (std::ranges::find(kNotHere, word) != kNotHere.end()) {
    return Fail(ErrorKind::kUnsupported,
                format("{} needs DCGM, which is not on this node\n{}", word, kUsage));
  }
  if (word != "discovery" && word != "dmon" && word != "health") {
    return Fail(ErrorKind::kInvalid, format("no subcommand '{}'\n{}", word, kUsage));
  }
  agent::FlagSet set(format("{} {}", kProgram, word), "");
  AddPlace(set, command);
  Switches switches;
  long long delay = 1000;
  long long count = 0;
  if (word == "discovery") {
    set.Bool("-l,--list", switches.list, {}, "list the GPUs");
  } else if (word == "dmon") {
    AddDmon(set, command, switches, delay, count);
  } else {
    AddHealth(set, command, switches);
  }
  TRY_ASSIGN(const bool run, set.Parse(argc - 1, argv + 1));
  if (!run) {
    return std::nullopt;
  }
  command.delay = std::chrono::milliseconds(delay);
  command.count = static_cast<unsigned>(count);
  if (word == "discovery") {
    command.word = Word::kDiscovery;
    return OnlyOne(std::move(command), switches.list, "discovery: -l");
  }
  if (word == "dmon") {
    command.word = switches.list ? Word::kFields : Word::kDmon;
    const bool given = switches.list || !command.fields.empty();
    return OnlyOne(std::move(command), given, "dmon: -e");
  }
  command.word = switches.check   ? Word::kHealthCheck
                 : switches.fetch ? Word::kHealthFetch
                                  : Word::kHealthSet;
  const bool given = switches.check || switches.fetch || !switches.set.empty();
  return OnlyOne(std::move(command), given, "health: -c");
}

}  // namespace gantry::dcgmi
