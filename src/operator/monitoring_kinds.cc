// SPDX-License-Identifier: Apache-2.0

// Can the cluster be told how to scrape? Only where somebody has installed the Prometheus
// operator's definitions, which may come and go at any time.

#include "operator/monitoring_kinds.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

template <typename Holds>
bool AnyOf(const Json& object, std::string_view path, const Holds& holds) {
  const Json* list = At(object, path);
  return list != nullptr && list->is_array() && std::ranges::any_of(*list, holds);
}

}  // namespace

bool IsServed(const Json& definition, std::string_view version) {
  return At(definition, "metadata.deletionTimestamp") == nullptr &&
         AnyOf(definition, "spec.versions",
               [&](const Json& one) {
                 return TextAt(one, "name") == version && BoolAt(one, "served", false);
               }) &&
         AnyOf(definition, "status.conditions", [](const Json& condition) {
           return TextAt(condition, "type") == "Established" &&
                  TextAt(condition, "status") == "True";
         });
}

}  // namespace gantry::gpu_operator
