// SPDX-License-Identifier: Apache-2.0

// Which kinds of objects does the operator make?

#include "operator/owned_kinds.h"

#include <algorithm>

#include "base/error.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {

const std::vector<kube::Kind>& OwnedKinds() {
  static const std::vector<kube::Kind> kKinds = {kube::kinds::kServiceAccount,
                                                 kube::kinds::kRole,
                                                 kube::kinds::kRoleBinding,
                                                 kube::kinds::kClusterRole,
                                                 kube::kinds::kClusterRoleBinding,
                                                 kube::kinds::kConfigMap,
                                                 kube::kinds::kService,
                                                 kube::kinds::kRuntimeClass,
                                                 kube::kinds::kDaemonSet,
                                                 kube::kinds::kDeviceClass,
                                                 kube::kinds::kValidatingAdmissionPolicy,
                                                 kube::kinds::kValidatingAdmissionPolicyBinding,
                                                 policy::kServiceMonitor,
                                                 policy::kPrometheusRule,
                                                 policy::kSecurityContextConstraints};
  return kKinds;
}

bool IsOfClaims(const kube::Kind& kind) {
  return kind.group == kube::kinds::kDeviceClass.group ||
         kind.group == kube::kinds::kValidatingAdmissionPolicy.group;
}

const kube::Kind& OwnedKind(std::string_view name) {
  const auto found = std::ranges::find(OwnedKinds(), name, &kube::Kind::kind);
  CHECK(found != OwnedKinds().end());
  return *found;
}

}  // namespace gantry::gpu_operator
