// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

// What the driver container is to do. Words and variables that NVIDIA's driver container has keep
// its names.
namespace gantry::driver {

inline constexpr char kProgram[] = "nvidia-driver";

enum class Word {
  kInit,           // install, load, wait; on SIGTERM unload
  kReloadPeermem,  // load nvidia-peermem beside a driver, wait
  kProbePeermem,   // is nvidia-peermem loaded?
};

enum class ModuleType { kAuto, kOpen, kProprietary };

// Where kernel modules may come from.
enum class Precompiled {
  kPrefer,  // a package for this kernel; without one they are compiled
  kOnly,    // a package or nothing
  kNever,   // they are compiled
};

struct Flags {
  Word word = Word::kInit;
  std::string version;         // "535.247.01"
  std::string kernel_release;  // "6.1.0-50-amd64"; never empty after ParseFlags
  ModuleType module_type = ModuleType::kAuto;
  Precompiled precompiled_use = Precompiled::kPrefer;
  std::vector<std::string> modules;  // in the order in which they are loaded

  // As this process spells them.
  std::string sources;      // folders with a driver's sources are below it
  std::string precompiled;  // <kernel release>/<driver version>/<open|proprietary>/*.ko[.xz]
  std::string packages;     // .deb files; empty: none
  std::string headers;      // of this kernel; empty: searched
  std::string runfile;      // a path, or a URL; empty: none
  std::string cache;        // what was compiled, for the next start
  std::string module_config;
  std::string user_space;
  std::string firmware;  // goes into user_space/lib/firmware at each start
  std::string root;  // of the node: /proc, /sys, /dev, /run, /lib/modules are looked for below it
  std::string termination_log;

  std::string compiler;  // empty: make's own
  int jobs = 0;          // of make; 0: one for each CPU
  bool exit_on_failure = false;
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::driver
