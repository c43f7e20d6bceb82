// SPDX-License-Identifier: Apache-2.0
// Files of a node: what procfs says of modules, driver and devices, and the status files that
// NVIDIA's validator may have written.
#include <cstddef>
#include <cstdint>

#include "host/kernel_modules.h"
#include "host/status_files.h"

namespace gantry::host {
namespace {

void Fuzz(std::string_view text) {
  for (const KernelModule& module : ParseModules(text)) {
    CHECK(!module.name.empty());
  }
  const std::string version = ParseDriverVersion(text);
  CHECK(version.find_first_not_of("0123456789.") == std::string::npos);
  CHECK(CharacterMajor(text, "nvidia") >= -1);
  // Read, written and read again: the second text is the first.
  const std::string once = StatusFileText(ParseStatusFile(text));
  for (const auto& [name, value] : ParseStatusFile(text)) {
    CHECK(!name.empty() && name.find('\n') == std::string::npos);
    CHECK(value.find('\n') == std::string::npos);
  }
  CHECK(ParseStatusFile(once).size() == ParseStatusFile(text).size());
}

}  // namespace
}  // namespace gantry::host

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  gantry::host::Fuzz({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
