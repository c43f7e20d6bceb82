// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/kind.h"
#include "policy/names.h"

// The custom resources' kinds, Gantry's and third parties'. Constants only: this header links
// nothing of kube/.
namespace gantry::policy {

inline constexpr kube::Kind kClusterPolicy{names::kNvidiaGroup, "v1", "ClusterPolicy",
                                           "clusterpolicies", false};
inline constexpr kube::Kind kGpuClusterPolicy{names::kGpuNvidiaGroup, "v1", "GPUClusterPolicy",
                                              "gpuclusterpolicies", false};
inline constexpr kube::Kind kNvidiaDriver{names::kNvidiaGroup, "v1alpha1", "NVIDIADriver",
                                          "nvidiadrivers", false};
inline constexpr kube::Kind kGpuCluster{names::kNvidiaGroup, "v1alpha1", "GPUCluster",
                                        "gpuclusters", false};
inline constexpr kube::Kind kDevice{names::kGpuNvidiaGroup, "v1", "Device", "devices", false};
inline constexpr kube::Kind kNodeFeature{names::kNfdGroup, "v1alpha1", "NodeFeature",
                                         "nodefeatures", true};
inline constexpr kube::Kind kNodeFeatureRule{names::kNfdGroup, "v1alpha1", "NodeFeatureRule",
                                             "nodefeaturerules", false};
inline constexpr kube::Kind kServiceMonitor{names::kMonitoringGroup, "v1", "ServiceMonitor",
                                            "servicemonitors", true};
inline constexpr kube::Kind kPrometheusRule{names::kMonitoringGroup, "v1", "PrometheusRule",
                                            "prometheusrules", true};
inline constexpr kube::Kind kSecurityContextConstraints{
    names::kSecurityGroup, "v1", "SecurityContextConstraints", "securitycontextconstraints", false};
inline constexpr kube::Kind kClusterVersion{"config.openshift.io", "v1", "ClusterVersion",
                                            "clusterversions", false};
inline constexpr kube::Kind kProxy{"config.openshift.io", "v1", "Proxy", "proxies", false};
inline constexpr kube::Kind kImageStream{"image.openshift.io", "v1", "ImageStream", "imagestreams",
                                         true};

}  // namespace gantry::policy
