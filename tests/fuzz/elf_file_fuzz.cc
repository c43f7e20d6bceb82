// SPDX-License-Identifier: Apache-2.0
// Libraries in an image: their SONAME, and the note of CUDA's forward compatibility.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "elf/soname.h"
#include "operands/container_runtime/cuda_compat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const int fd = ::memfd_create("elf", MFD_CLOEXEC);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, bytes, size, 0) != static_cast<ssize_t>(size)) {
    return 0;
  }
  CHECK(gantry::elf::ReadSoname(gantry::format("/proc/self/fd/{}", fd)).size() < 256);
  CHECK(gantry::container_runtime::ReadCompatNote(fd).size() <= size);
  return 0;
}
