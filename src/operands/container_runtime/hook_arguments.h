// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"

namespace gantry::container_runtime {

// What a hook is asked to do. NVIDIA's CDI hooks each fill a part of it, our `create-container` any
// of it at once.
struct HookRequest {
  std::string name;
  bool known = true;  // unknown hooks are answered with a warning and success, as NVIDIA's does,
                      // so that a document may name hooks of a later version
  std::vector<SymbolicLink> links;
  std::vector<SymbolicLink> device_links;     // only where the target exists
  std::vector<SymbolicLink> links_if_absent;  // only where the image has nothing of that name
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
// a value that cannot be read; an unknown flag makes the request unknown.
Result<HookRequest> ParseHookArguments(const std::vector<std::string>& words);

// Whether the words after a program's name ask for its version, as NVIDIA's programs spell it.
bool AskForVersion(const std::vector<std::string>& words);

}  // namespace gantry::container_runtime
