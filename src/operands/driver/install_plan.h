// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operands/driver/flags.h"

// Where do this node's kernel modules come from?
namespace gantry::driver {

// Precompiled modules: a folder below --precompiled, or a .deb.
struct ModulePackage {
  std::string path;
  std::string kernel_release;
  std::string version;
  bool open = false;
  bool operator==(const ModulePackage&) const = default;
};

// Sources that can be compiled: a folder with a Makefile that has the target `modules`.
struct SourceTree {
  std::string path;
  std::string version;
  bool open = false;
  bool operator==(const SourceTree&) const = default;
};

// The kernel's headers as its build system needs them (`make SYSSRC=... SYSOUT=...`). Debian keeps
// the files common to all flavours in a folder of its own; elsewhere both are one.
struct KernelHeaders {
  std::string source;
  std::string build;
  bool operator==(const KernelHeaders&) const = default;
};

// The facts found by gather.h.
struct InstallFacts {
  std::vector<ModulePackage> packages;  // of any kernel and version, for messages
  std::vector<SourceTree> sources;      // of any version
  KernelHeaders headers;                // empty: none
  std::vector<std::string> headers_looked_for;
  std::string runfile;         // a path of this process; empty: none
  std::string loaded_version;  // of the first module, /sys/module/<name>/version; empty: not loaded
  bool loaded = false;
  bool same_digest = false;  // it was loaded with the present settings
};

enum class Way {
  kLoaded,       // the driver is already loaded. `from` is the installer that
                 // has its libraries, which each container needs again; empty: the image has them
  kPrecompiled,  // `from` is a folder of modules
  kPackage,      // `from` is a .deb
  kCompile,      // `from` is a source tree
  kRunfile,      // `from` is an installer, whose sources are compiled
};

struct InstallPlan {
  Way way = Way::kLoaded;
  std::string from;
  bool open = false;
  std::string note;  // why not a better way; empty: this is the best
};

// kNotFound: no source; the message names the driver and kernel, what was searched, and what exists
// instead.
Result<InstallPlan> PlanInstall(const Flags& flags, const InstallFacts& facts);

// Which kinds are possible, the preferred one first. `auto` follows NVIDIA's rule: the open modules
// since driver 560, the proprietary ones before; the other kind if the preferred one is missing.
std::vector<bool> OpenOrNot(ModuleType type, std::string_view version);

// "open" or "proprietary".
std::string_view KindName(bool open);

// Driver version and kind by the name of a folder with sources ("nvidia-535.247.01",
// "nvidia-open-535.247.01", "nvidia-current-open-535.247.01"); version empty if it has none.
struct NamedTree {
  std::string version;
  bool open = false;
};
NamedTree ParseTreeName(std::string_view folder);

// The content of a .deb, from its control field Version ("535.247.01-1~deb12u1"), its name, and the
// paths that it installs, one a line. path is left empty; kernel_release is empty if it has no
// module.
ModulePackage ParsePackage(std::string_view package, std::string_view version,
                           std::string_view paths);

// The folder that the Makefile of a Debian flavour's headers includes ("include
// /usr/src/linux-headers-6.1.0-50-common/Makefile"); empty if it includes none.
std::string CommonHeaders(std::string_view makefile);

}  // namespace gantry::driver
