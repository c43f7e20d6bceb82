// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/json.h"

namespace gantry::gpu_operator {

// Whether the cluster serves an optional kind.
enum class Served { kUnknown, kNo, kYes };

// The kinds of the Prometheus operator (monitoring.coreos.com/v1).
struct MonitoringKinds {
  Served service_monitors = Served::kUnknown;
  Served prometheus_rules = Served::kUnknown;
  bool operator==(const MonitoringKinds&) const = default;
};

// Whether objects of that version can be written: apiextensions.k8s.io/v1 CustomResourceDefinition,
// spec.versions and the condition Established. False from the start of its deletion, which deletes
// its objects first.
bool IsServed(const Json& definition, std::string_view version);

}  // namespace gantry::gpu_operator
