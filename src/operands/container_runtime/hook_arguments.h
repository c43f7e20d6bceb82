// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"

namespace gantry::container_runtime {

// The work requested from a hook. Each of NVIDIA's CDI hooks sets a part of it; Gantry's
// `create-container` may set all of it.
struct HookRequest {
  std::string name;
  bool known = true;  // unknown hooks give a warning and success, as with NVIDIA's program,
                      // so that a document may name hooks of a later version
  std::vector<SymbolicLink> links;
  std::vector<SymbolicLink> device_links;     // only if the target exists
  std::vector<SymbolicLink> links_if_absent;  // only if the image has nothing of that name
  std::vector<elf::CachedLibrary> libraries;
  std::vector<elf::CachedLibrary>
      cuda_libraries;                // only if the image has no CUDA runtime of its own
  std::vector<std::string> folders;  // to be searched for libraries
  bool cuda_compat = false;
  std::string host_driver_version;
  std::string host_cuda_version;
  std::string compat_folder = "/usr/local/cuda/compat";
  bool disable_device_node_modification = false;
  bool update_application_profile = false;
  unsigned mode = 0;  // of `paths`
  std::vector<std::string> paths;
  std::string state_file;  // with the OCI state; empty or "-": standard input
};

// Reads the words after the program's name: "<hook> --flag value --flag=value ...". kInvalid names
// an invalid value; an unknown flag makes the request unknown.
Result<HookRequest> ParseHookArguments(const std::vector<std::string>& words);

// Whether the arguments request the version, as with NVIDIA's programs.
bool AskForVersion(const std::vector<std::string>& words);

}  // namespace gantry::container_runtime
