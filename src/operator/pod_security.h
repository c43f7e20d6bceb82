// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "operator/node_facts.h"

namespace gantry::gpu_operator {

// A namespace, as far as it matters.
struct NamespaceFacts {
  Labels labels;
  std::string earlier;  // its annotation kEarlier: labels as they were, null: absent
};

NamespaceFacts NamespaceFrom(const Json& ns);

// The merge patch that lets privileged pods into a namespace with these labels (psa.enabled); null
// if they are let in. What the labels were is remembered in an annotation.
// `privileged`: pods of that kind are to be let in; `monitored`: OpenShift's own Prometheus is to
// look into it, unless a label says whether it should.
Json NamespacePatch(const NamespaceFacts& ns, bool privileged, bool monitored);

// The merge patch that gives a namespace the labels that it had before; null if none was changed.
// A label that somebody has changed since stays.
Json NamespaceRestored(const NamespaceFacts& ns);

}  // namespace gantry::gpu_operator
