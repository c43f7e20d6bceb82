// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "operands/mig_manager/config_text.h"

// The subcommands of nvidia-mig-parted, with its flags and variables.
namespace gantry::mig_parted {

inline constexpr char kProgram[] = "nvidia-mig-parted";

enum class Word { kApply, kAssert, kExport, kGenerateConfig, kCheckpoint, kRestore };

struct Flags {
  Word word = Word::kApply;
  bool debug = false;
  std::string config_file;  // "-": standard input
  std::string selected_config;
  bool mode_only = false;
  std::string hooks_file;
  bool skip_reset = false;
  bool dry_run = false;
  bool valid_config = false;
  std::string output_format = "yaml";
  std::string config_label = "current";
  std::string output_file;  // empty: standard output
  std::string checkpoint_file;
  std::string driver_root;  // empty: the loader finds the library
  std::string dev_root;
  std::string journal;
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

// The variables of the flags of `apply`, as hooks get them.
std::map<std::string, std::string> FlagVariables(const Flags& flags);

}  // namespace gantry::mig_parted
