// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::kube {

// One resource of the Kubernetes API, with the parts of its path, apiVersion and kind.
struct Kind {
  std::string_view group;  // empty: the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  bool namespaced = true;

  // "v1", "apps/v1".
  [[nodiscard]] std::string ApiVersion() const;
  bool operator==(const Kind&) const = default;
};

// Kubernetes' own kinds. Kinds of custom resources are declared by their owners.
namespace kinds {
inline constexpr Kind kPod{"", "v1", "Pod", "pods", true};
inline constexpr Kind kNode{"", "v1", "Node", "nodes", false};
inline constexpr Kind kNamespace{"", "v1", "Namespace", "namespaces", false};
inline constexpr Kind kEvent{"", "v1", "Event", "events", true};
inline constexpr Kind kConfigMap{"", "v1", "ConfigMap", "configmaps", true};
inline constexpr Kind kSecret{"", "v1", "Secret", "secrets", true};
inline constexpr Kind kService{"", "v1", "Service", "services", true};
inline constexpr Kind kServiceAccount{"", "v1", "ServiceAccount", "serviceaccounts", true};
inline constexpr Kind kResourceQuota{"", "v1", "ResourceQuota", "resourcequotas", true};
inline constexpr Kind kDaemonSet{"apps", "v1", "DaemonSet", "daemonsets", true};
inline constexpr Kind kDeployment{"apps", "v1", "Deployment", "deployments", true};
inline constexpr Kind kReplicaSet{"apps", "v1", "ReplicaSet", "replicasets", true};
inline constexpr Kind kStatefulSet{"apps", "v1", "StatefulSet", "statefulsets", true};
inline constexpr Kind kControllerRevision{"apps", "v1", "ControllerRevision", "controllerrevisions",
                                          true};
inline constexpr Kind kJob{"batch", "v1", "Job", "jobs", true};
inline constexpr Kind kRole{"rbac.authorization.k8s.io", "v1", "Role", "roles", true};
inline constexpr Kind kRoleBinding{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings",
                                   true};
inline constexpr Kind kClusterRole{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles",
                                   false};
inline constexpr Kind kClusterRoleBinding{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding",
                                          "clusterrolebindings", false};
inline constexpr Kind kRuntimeClass{"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false};
inline constexpr Kind kCustomResourceDefinition{
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false};
inline constexpr Kind kResourceSlice{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices",
                                     false};
inline constexpr Kind kResourceClaim{"resource.k8s.io", "v1", "ResourceClaim", "resourceclaims",
                                     true};
inline constexpr Kind kDeviceClass{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false};
inline constexpr Kind kValidatingAdmissionPolicy{"admissionregistration.k8s.io", "v1",
                                                 "ValidatingAdmissionPolicy",
                                                 "validatingadmissionpolicies", false};
inline constexpr Kind kValidatingAdmissionPolicyBinding{"admissionregistration.k8s.io", "v1",
                                                        "ValidatingAdmissionPolicyBinding",
                                                        "validatingadmissionpolicybindings", false};
inline constexpr Kind kLease{"coordination.k8s.io", "v1", "Lease", "leases", true};
}  // namespace kinds

}  // namespace gantry::kube
