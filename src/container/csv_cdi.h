// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/cdi_hooks.h"

// Tegra: the driver is part of the board's system image, and files in
// /etc/nvidia-container-runtime/host-files-for-container.d list the files that a container gets.
namespace gantry::container {

// Containers get it too, if the board has it; no list names it.
inline constexpr char kTegraRelease[] = "/etc/nv_tegra_release";

struct CsvLine {
  enum class Kind { kDevice, kFolder, kLibrary, kLink };
  Kind kind = Kind::kFolder;
  std::string path;
  bool operator==(const CsvLine&) const = default;
};

// Lines "dev|dir|lib|sym, <path>"; empty lines and those that begin with '#' are skipped. kInvalid
// names the line.
Result<std::vector<CsvLine>> ParseCsv(std::string_view text);

struct CsvInput {
  std::string kind;  // "nvidia.com/gpu"
  std::vector<CsvLine> lines;
  std::vector<std::string> ignored;  // patterns of paths, as glob(7)
  HookProgram hook;
  HookSwitches hook_switches = {};
  std::string compat_folder = {};  // of the image's CUDA compatibility; empty: the default
  std::vector<std::string> names = {"all"};  // of devices, which are all alike
  // A path on this node. `real`: with links resolved, empty if absent; `target`: of a symbolic
  // link.
  std::function<std::string(const std::string& path)> real;
  std::function<std::string(const std::string& path)> target;
};

CdiSpec CsvCdi(const CsvInput& input);

}  // namespace gantry::container
