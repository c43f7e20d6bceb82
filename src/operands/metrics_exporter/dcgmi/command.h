// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"

namespace gantry::dcgmi {

inline constexpr char kProgram[] = "dcgmi";

// What the command line asks for. Subcommands and flags are those of NVIDIA's dcgmi.
struct Command {
  enum class Word {
    kVersion,
    kDiscovery,
    kFields,  // dmon --list
    kDmon,
    kHealthCheck,
    kHealthFetch,
    kHealthSet
  };
  Word word = Word::kVersion;
  std::string socket;                     // the exporter's
  std::string fields = {};                // of dmon: "150,155"
  std::chrono::milliseconds delay{1000};  // between two rows of dmon
  unsigned count = 0;                     // of rows; 0: until it is interrupted
  std::set<unsigned> gpus = {};           // of dmon; empty: all
  bool json = false;
};

// nullopt: help was printed. kInvalid names the flag; kUnsupported: NVIDIA's dcgmi has the
// subcommand, or that host.
Result<std::optional<Command>> ParseCommand(int argc, const char* const* argv);

}  // namespace gantry::dcgmi
