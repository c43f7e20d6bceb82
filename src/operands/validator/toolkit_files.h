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
  std::string management = {};  // the document, on the host; empty: the default path
};

// Whether it is Gantry's toolkit, whose runtime is a link; NVIDIA's is a regular file.
bool IsOurs(const ToolkitPlaces& places);

// Observes the container toolkit's files; does not run its program (`version` is empty), and does
// not read its status files.
ToolkitObservation ObserveToolkit(const ToolkitPlaces& places);

// Missing host programs that the hooks of a CDI document call. None if there is no such document,
// or it is unreadable.
std::vector<std::string> MissingHooks(const std::string& host_root, const std::string& document);

// The program to run, as this process spells it.
std::string HookHere(const ToolkitPlaces& places);

// Local paths whose changes can change the observation.
std::vector<std::string> ToolkitPathsToWatch(const ToolkitPlaces& places);

}  // namespace gantry::validator
