// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

// What the driver container should do. Commands and variables of NVIDIA's driver container keep
// their names.
namespace gantry::driver {

inline constexpr char kProgram[] = "nvidia-driver";

enum class Word {
  kInit,           // install, load, wait; on SIGTERM unload
  kReloadPeermem,  // load nvidia-peermem beside a driver, wait
  kProbePeermem,   // is nvidia-peermem loaded?
};

enum class ModuleType { kAuto, kOpen, kProprietary };

// The source of kernel modules.
enum class Precompiled {
  kPrefer,  // a package for this kernel; else compile
  kOnly,    // a package or nothing
  kNever,   // compile
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
  std::string cache;        // compiled modules, for the next start
  std::string module_config;
  std::string user_space;
  std::string firmware;  // copied to user_space/lib/firmware at each start
  std::string root;      // of the node: /proc, /sys, /dev, /run, /lib/modules are below it
  std::string termination_log;

  std::string compiler;  // empty: make's own
  int jobs = 0;          // of make; 0: one for each CPU
  bool exit_on_failure = false;
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::driver
