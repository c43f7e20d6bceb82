// SPDX-License-Identifier: Apache-2.0

// May the operands' pods into their namespace? They are privileged, and Pod Security admission
// keeps such pods out of every namespace that does not say otherwise by its labels.

#include "operator/pod_security.h"

namespace gantry::gpu_operator {

Json SpacePatch(const Labels& labels, bool privileged, bool monitored) {
  Json wanted = Json::object();
  constexpr char kMonitoring[] = "openshift.io/cluster-monitoring";
  if (monitored && !labels.contains(kMonitoring)) {
    wanted[kMonitoring] = "true";
  }
  for (const char* mode : {"enforce", "audit", "warn"}) {
    const std::string key = std::string("pod-security.kubernetes.io/") + mode;
    if (privileged && ValueOf(labels, key) != "privileged") {
      wanted[key] = "privileged";
    }
  }
  return wanted.empty() ? Json() : Json{{"metadata", {{"labels", std::move(wanted)}}}};
}

}  // namespace gantry::gpu_operator
