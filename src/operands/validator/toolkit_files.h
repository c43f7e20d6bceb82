// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operands/validator/verdict.h"

namespace gantry::validator {

struct ToolkitPlaces {
  std::string host_root;    // where the host's root is mounted here
  std::string toolkit_dir;  // on the host: "/usr/local/nvidia/toolkit"
  bool cdi_wanted = true;
  std::string management = {};  // the document, on the host; empty: at its usual place
};

// Whether it is a toolkit of ours, whose runtime is a link; NVIDIA's is a file of its own.
bool IsOurs(const ToolkitPlaces& places);

// What is there of the container toolkit; its program is not run (`version` is empty), and what it
// says by status files is not looked at.
ToolkitObservation ObserveToolkit(const ToolkitPlaces& places);

// Programs of the host that the hooks of a CDI document call and that are not there. None if there
// is no such document, or it can't be read.
std::vector<std::string> MissingHooks(const std::string& host_root, const std::string& document);

// As this process spells it: the program that is to be run.
std::string HookHere(const ToolkitPlaces& places);

// Paths here whose changes can change the observation.
std::vector<std::string> ToolkitPathsToWatch(const ToolkitPlaces& places);

}  // namespace gantry::validator
