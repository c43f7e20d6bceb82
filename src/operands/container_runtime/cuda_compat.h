// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elf/library_cache.h"
#include "operands/container_runtime/container_root.h"

// CUDA forward compatibility: an image may carry a newer libcuda (in /usr/local/cuda/compat) that
// works on the older kernel driver of a data-centre GPU; the linker must then find it before the
// host's.
namespace gantry::container_runtime {

struct CompatFacts {
  std::string compat_version;       // of the image's libcuda: "550.54.15"
  std::string host_driver_version;  // "535.247.01"; empty if unknown
  std::string host_cuda_version;    // "12.2"; empty if unknown
  // From the note ".note.cuda.fwd_compatibility" of that libcuda; absent in older ones.
  bool has_note = false;
  std::vector<int> note_driver_majors;
  std::string note_cuda_version;
};

// Whether the image's libcuda comes before the host's.
bool UseCompat(const CompatFacts& facts);

// The image's libraries that come before the host's; empty if none.
std::vector<elf::CachedLibrary> CompatLibraries(const ContainerRoot& root, std::string_view folder,
                                                std::string_view host_driver_version,
                                                std::string_view host_cuda_version);

// The JSON of the note in an open libcuda; empty if it has none.
std::string ReadCompatNote(int fd);

}  // namespace gantry::container_runtime
