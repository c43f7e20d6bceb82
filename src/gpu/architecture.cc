// SPDX-License-Identifier: Apache-2.0
// Which architecture has a compute capability? (CUDA C++ Programming Guide, compute capabilities)
#include "gpu/architecture.h"

namespace gantry::gpu {

std::string_view Architecture(int major, int minor) {
  switch (major) {
    case 1:
      return "Tesla";
    case 2:
      return "Fermi";
    case 3:
      return "Kepler";
    case 5:
      return "Maxwell";
    case 6:
      return "Pascal";
    case 7:
      return minor < 5 ? "Volta" : "Turing";
    case 8:
      return minor < 9 ? "Ampere" : "Ada Lovelace";
    case 9:
      return "Hopper";
    case 10:
    case 12:
      return "Blackwell";
    case 13:
      return "Rubin";
    default:
      return "";
  }
}

}  // namespace gantry::gpu
