// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"
#include "operands/container_runtime/hook_arguments.h"

namespace gantry::container_runtime {

// Makes the container's linker find the driver's libraries, those of the request's folders, and
// CUDA's. `driver`: the driver's names for the cache. Warnings and errors as in `Settle`.
Status UpdateLibraries(const HookRequest& request, const std::vector<elf::CachedLibrary>& driver,
                       const ContainerRoot& root, std::vector<std::string>& warnings);

}  // namespace gantry::container_runtime
