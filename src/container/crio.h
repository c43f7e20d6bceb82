// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// CRI-O's configuration (crio.conf(5), crio.conf.d(5)): the drop-in that gives it the NVIDIA
// runtimes. Files of the folder are read in the order of their names, key by key, so a drop-in has
// nothing but what is ours. CDI is always on there. Texts in, texts out.
namespace gantry::container {

struct CrioWish {
  // Texts of crio.conf and the files of crio.conf.d in CRI-O's order, without our drop-in.
  std::vector<std::string> present;
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  bool set_as_default = false;
};

struct CrioPlan {
  std::string drop_in_text;  // empty: all is there already
  std::vector<std::string> handlers;
};

// kInvalid if one of the texts is no TOML.
Result<CrioPlan> PlanCrio(const CrioWish& wish);

// Low-level runtimes' programs that the texts name, for nvidia-container-runtime.runtimes.
std::vector<std::string> CrioRuntimePaths(const std::vector<std::string>& texts);

// Runtime handlers in what `crio config` printed. kInvalid if it is no TOML.
Result<std::vector<std::string>> CrioHandlers(std::string_view config);

}  // namespace gantry::container
