// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? Subcommands, flags and variables are those of
// NVIDIA's nvidia-mig-parted; --dry-run and the places of the driver and the journal are ours.
#include "operands/mig_manager/parted/flags.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "agent/flags.h"
#include "base/text.h"
#include "operands/mig_manager/journal.h"

namespace gantry::mig_parted {
namespace {

constexpr char kDebug[] = "MIG_PARTED_DEBUG";
constexpr char kConfigFile[] = "MIG_PARTED_CONFIG_FILE";
constexpr char kSelectedConfig[] = "MIG_PARTED_SELECTED_CONFIG";
constexpr char kModeOnly[] = "MIG_PARTED_MODE_CHANGE_ONLY";
constexpr char kHooksFile[] = "MIG_PARTED_HOOKS_FILE";
constexpr char kSkipReset[] = "MIG_PARTED_SKIP_RESET";

struct Row {
  std::string_view name;
  Word word;
  const char* help;
};
constexpr std::array kWords = std::to_array<Row>({
    {"apply", Word::kApply, "divides the GPUs as a configuration says"},
    {"assert", Word::kAssert, "checks whether the GPUs are divided as a configuration says"},
    {"export", Word::kExport, "prints how the GPUs are divided, as a configuration"},
    {"generate-config", Word::kGenerateConfig, "prints a configuration of all that GPUs can be"},
    {"checkpoint", Word::kCheckpoint, "writes how the GPUs are divided to a file"},
    {"restore", Word::kRestore, "divides the GPUs as a checkpoint's file says"},
});

std::string Usage() {
  std::string text = format("usage: {} [--debug] SUBCOMMAND [FLAG...]\n", kProgram);
  for (const Row& row : kWords) {
    text += format("  {:<16} {}\n", row.name, row.help);
  }
  return text;
}

void AddPlaces(agent::FlagSet& set, Flags& to) {
  set.Value("--driver-root", to.driver_root, {"DRIVER_ROOT_CTR_PATH"},
            "where the driver's files are; empty: the loader finds its library");
  set.Value("--dev-root", to.dev_root, {"DEV_ROOT_CTR_PATH"},
            "holds the dev/ to use instead of this container's");
}

void AddConfig(agent::FlagSet& set, Flags& to) {
  set.Value("-f,--config-file", to.config_file, {kConfigFile}, "the configuration; -: stdin")
      ->required();
  set.Value("-c,--selected-config", to.selected_config, {kSelectedConfig},
            "which of its layouts; optional if there is one");
  set.Bool("-m,--mode-only", to.mode_only, {kModeOnly}, "the MIG mode only, no instances");
}

// What changes the GPUs.
void AddChange(agent::FlagSet& set, Flags& to) {
  set.Value("-k,--hooks-file", to.hooks_file, {kHooksFile}, "programs to run before and after");
  set.Value("--journal", to.journal, {"MIG_PARTED_JOURNAL"},
            "keeps the earlier layout while a change lasts")
      ->default_val(mig_manager::DefaultJournal());
}

void AddFormat(agent::FlagSet& set, Flags& to) {
  set.Value("-o,--output-format", to.output_format, {"MIG_PARTED_OUTPUT_FORMAT"}, "yaml or json");
}

void AddFlags(agent::FlagSet& set, Flags& to) {
  set.Bool("-d,--debug", to.debug, {kDebug}, "log each step");
  AddPlaces(set, to);
  switch (to.word) {
    case Word::kApply:
      AddConfig(set, to);
      AddChange(set, to);
      set.Bool("-s,--skip-reset", to.skip_reset, {kSkipReset},
               "leave a mode pending that needs a reset of the GPU");
      set.Bool("--dry-run", to.dry_run, {}, "print what would change, and change nothing");
      break;
    case Word::kAssert:
      AddConfig(set, to);
      set.Bool("-a,--valid-config", to.valid_config, {"MIG_PARTED_VALID_CONFIG"},
               "only whether the GPUs could be so");
      break;
    case Word::kExport:
      AddFormat(set, to);
      set.Value("-l,--config-label", to.config_label, {"MIG_PARTED_CONFIG_LABEL"},
                "name of the layout");
      break;
    case Word::kGenerateConfig:
      AddFormat(set, to);
      set.Value("-f,--output-file", to.output_file, {"MIG_PARTED_OUTPUT_FILE"},
                "empty: standard output");
      break;
    case Word::kCheckpoint:
    case Word::kRestore:
      set.Value("-f,--checkpoint-file", to.checkpoint_file, {"MIG_PARTED_CHECKPOINT_FILE"}, "")
          ->required();
      if (to.word == Word::kRestore) {
        AddChange(set, to);
        set.Bool("-m,--mode-only", to.mode_only, {kModeOnly}, "the MIG mode only, no instances");
      }
      break;
  }
}

const Row* FindWord(std::string_view name) {
  for (const Row& row : kWords) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  std::vector<const char*> rest = {kProgram};
  const Row* word = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (word != nullptr || text == "-d" || text == "--debug" || text.starts_with("--debug=")) {
      rest.push_back(argv[i]);
    } else if (text == "-h" || text == "--help" || text == "help") {
      std::fputs(Usage().c_str(), stdout);
      return std::nullopt;
    } else if (word = FindWord(text); word == nullptr) {
      return Fail(ErrorKind::kInvalid, format("no subcommand '{}'\n{}", text, Usage()));
    }
  }
  if (word == nullptr) {
    return Fail(ErrorKind::kInvalid, "a subcommand is missing\n" + Usage());
  }
  agent::FlagSet set(format("{} {}", kProgram, word->name), word->help);
  Flags flags;
  flags.word = word->word;
  AddFlags(set, flags);
  TRY_ASSIGN(const bool run, set.Parse(static_cast<int>(rest.size()), rest.data()));
  return run ? std::optional(flags) : std::nullopt;
}

std::map<std::string, std::string> FlagVariables(const Flags& flags) {
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  return {{kDebug, text(flags.debug)},
          {kConfigFile, flags.config_file},
          {kSelectedConfig, flags.selected_config},
          {kModeOnly, text(flags.mode_only)},
          {kHooksFile, flags.hooks_file},
          {kSkipReset, text(flags.skip_reset)}};
}

}  // namespace gantry::mig_parted
