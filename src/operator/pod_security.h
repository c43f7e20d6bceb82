// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator {

// The relevant parts of a namespace.
struct NamespaceFacts {
  Labels labels;
  std::string earlier;  // its annotation kEarlier: the earlier labels, null: absent
};

NamespaceFacts NamespaceFrom(const Json& ns);

// The merge patch that makes a namespace with these labels admit privileged pods (psa.enabled);
// null if it does. An annotation records the earlier labels. `privileged`: admit such pods;
// `monitored`: let OpenShift's own Prometheus scrape it, unless a label already decides.
Json NamespacePatch(const NamespaceFacts& ns, bool privileged, bool monitored);

// The merge patch that restores the earlier labels of a namespace; null if none was changed. A
// label that was changed since is kept.
Json NamespaceRestored(const NamespaceFacts& ns);

}  // namespace gantry::gpu_operator
