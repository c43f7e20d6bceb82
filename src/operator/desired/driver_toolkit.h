// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/desired/nvidia_pod.h"

namespace gantry::gpu_operator {

// Whether drivers are built with OpenShift's driver toolkit, and why not.
// `rhcos` are the versions of RHCOS on nodes with GPUs; `described`: some such node says what it
// runs.
ToolkitState DecideToolkit(const policy::ClusterPolicy& policy, const OpenShift& openshift,
                           const std::vector<std::string>& rhcos, bool described);

// How a driver's container reaches the world on OpenShift.
void UseClusterProxy(const Context& context, NvidiaDaemonSet& set);

// Whether it trusts certificates of the cluster's own, and the ConfigMap that OpenShift then writes
// them into, which all drivers share.
bool AsksForTrustedCa(const Context& context);
Json TrustedCa(const Context& context);

// Lets the driver of nodes with that RHCOS version, and the modules of the set's other containers,
// be built beside the toolkit.
void UseToolkit(const Context& context, const std::string& rhcos, NvidiaDaemonSet& set);

}  // namespace gantry::gpu_operator
