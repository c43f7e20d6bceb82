// SPDX-License-Identifier: Apache-2.0

// Can the cluster be told how to scrape? Only where somebody has installed the Prometheus
// operator's definitions, which may come and go at any time.

#include "operator/monitoring_kinds.h"

#include <algorithm>

#include "base/text.h"
#include "operator/definitions.h"

namespace gantry::gpu_operator {
bool IsServed(const Json& definition, std::string_view version) {
  return !IsBeingDeleted(definition) &&
         std::ranges::any_of(ListAt(definition, "spec.versions"),
                             [&](const Json& one) {
                               return TextAt(one, "name") == version &&
                                      BoolAt(one, "served", false);
                             }) &&
         IsEstablished(definition);
}

}  // namespace gantry::gpu_operator
