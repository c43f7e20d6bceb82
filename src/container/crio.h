// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// CRI-O's configuration (crio.conf(5), crio.conf.d(5)): the drop-in that gives it the NVIDIA
// runtimes. Files of the folder are read in the order of their names, key by key, so a drop-in has
// Gantry's keys only. CRI-O always has CDI enabled. Texts in, texts out.
namespace gantry::container {

struct CrioWish {
  // Texts of crio.conf and the files of crio.conf.d in CRI-O's order, without Gantry's drop-in.
  std::vector<std::string> present;
  std::string program = "/usr/local/nvidia/toolkit/nvidia-container-runtime";
  std::string runtime_name = "nvidia";
  bool set_as_default = false;
};

struct CrioPlan {
  std::string drop_in_text;  // empty: nothing to add
  std::vector<std::string> handlers;
};

// kInvalid if one of the texts is not TOML.
Result<CrioPlan> PlanCrio(const CrioWish& wish);

// Programs of low-level runtimes in the texts, for nvidia-container-runtime.runtimes.
std::vector<std::string> CrioRuntimePaths(const std::vector<std::string>& texts);

// Runtime handlers in the output of `crio config`. kInvalid if it is not TOML.
Result<std::vector<std::string>> CrioHandlers(std::string_view config);

}  // namespace gantry::container
