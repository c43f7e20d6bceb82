// SPDX-License-Identifier: Apache-2.0

// Can the operator create ServiceMonitors and PrometheusRules? Only if the Prometheus operator's
// CRDs are installed, which may be added and deleted at any time.

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
