// SPDX-License-Identifier: Apache-2.0
// How is EGL limited to a container's GPUs? It enumerates every GPU of the kernel module and stops
// at the first one that it cannot open. The key EGLVisibleDGPUDevices (NVIDIA driver README,
// "Application Profiles") is a bit mask of 64 minor numbers.
#include "operands/container_runtime/application_profile.h"

#include <cstdint>

#include "base/text.h"

namespace gantry::container_runtime {

std::string ApplicationProfile(const std::vector<std::string>& device_names) {
  constexpr std::string_view kStem = "nvidia";
  constexpr long long kBits = 64;
  uint64_t mask = 0;
  for (const std::string& name : device_names) {
    const bool digits = name.size() > kStem.size() && name.starts_with(kStem) &&
                        name.find_first_not_of("0123456789", kStem.size()) == std::string::npos;
    const auto minor = ParseInt(digits ? name.substr(kStem.size()) : "");
    if (minor && *minor < kBits) {
      mask |= uint64_t{1} << static_cast<unsigned>(*minor);
    }
  }
  if (mask == 0) {
    return "";
  }
  return format(
      R"({{"profiles": [{{"name": "_container_", "settings": ["EGLVisibleDGPUDevices", {:#x}]}}],)"
      R"( "rules": [{{"pattern": [], "profile": "_container_"}}]}})"
      "\n",
      mask);
}

}  // namespace gantry::container_runtime
