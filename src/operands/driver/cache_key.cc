// SPDX-License-Identifier: Apache-2.0
// Under which name are compiled modules cached? Equal inputs have equal names, so nothing is
// compiled twice; modules from patched sources, or from another compiler, have other names.
#include "operands/driver/cache_key.h"

#include "base/text.h"
#include "host/files.h"
#include "operands/driver/install_plan.h"

namespace gantry::driver {

std::string CacheKey(const CacheInput& input) {
  // Each field ends with a byte that no field contains, so that different inputs differ.
  const std::string all =
      Join({input.kernel_release, input.version, std::string(KindName(input.open)), input.sources,
            input.headers, input.compiler},
           std::string_view("\0", 1));
  const std::string print = host::Fingerprint(all);
  return format("{}_{}_{}_{}", input.kernel_release, input.version, KindName(input.open),
                print.substr(0, print.find('-')));
}

std::vector<std::string> Outdated(const std::vector<std::string>& entries, std::string_view kernel,
                                  size_t most) {
  std::vector<std::string> outdated;
  size_t kept = 0;
  for (const std::string& entry : entries) {
    if (entry.starts_with(kUnfinished)) {
      outdated.push_back(entry);
    } else {
      ++kept;
    }
  }
  for (const std::string& entry : entries) {
    if (kept > most && !entry.starts_with(kUnfinished) &&
        !entry.starts_with(format("{}_", kernel))) {
      outdated.push_back(entry);
      --kept;
    }
  }
  return outdated;
}

}  // namespace gantry::driver
