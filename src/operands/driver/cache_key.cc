// SPDX-License-Identifier: Apache-2.0
// Nothing is compiled twice, and nothing that would come out otherwise is taken for the same: a
// module built from patched sources, or by another compiler, has another name.
#include "operands/driver/cache_key.h"

#include "base/text.h"
#include "host/files.h"
#include "operands/driver/install_plan.h"

namespace gantry::driver {

std::string CacheKey(const CacheInput& input) {
  // Each field ends with what no field holds, so that no two inputs look alike.
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
