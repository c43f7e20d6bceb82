// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace gantry::elf {

// A shared object that the linker's cache of this machine can list.
struct SharedObject {
  std::string soname;   // DT_SONAME; empty if it has none
  bool narrow = false;  // of 32 bits
};
// nullopt for another file: not ELF, another machine, or no dynamic section.
std::optional<SharedObject> ReadSharedObject(const std::string& path);

// The SONAME of a 64-bit shared object; empty if it is not one or has none.
std::string ReadSoname(const std::string& path);

}  // namespace gantry::elf
