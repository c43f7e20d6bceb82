// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/kind.h"

// The custom resources that GPUs bring to a cluster.
namespace gantry::kinds {

inline constexpr kube::Kind kClusterPolicy{"nvidia.com", "v1", "ClusterPolicy", "clusterpolicies",
                                           false};
// Node feature discovery 0.16 and later.
inline constexpr kube::Kind kNodeFeature{"nfd.k8s-sigs.io", "v1alpha1", "NodeFeature",
                                         "nodefeatures", true};

}  // namespace gantry::kinds
