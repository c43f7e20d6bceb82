// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "operator/desired/nvidia_pod.h"

namespace gantry::gpu_operator {

// Whether drivers are built with OpenShift's driver toolkit, and why not. `rhcos` are the versions
// of RHCOS on GPU nodes; `described`: some GPU node has labels of its system.
ToolkitState DecideToolkit(const policy::ClusterPolicy& policy, const OpenShift& openshift,
                           const std::vector<std::string>& rhcos, bool described);

// How a driver's container reaches external hosts on OpenShift.
void UseClusterProxy(const Context& context, NvidiaDaemonSet& set);

// Whether it trusts the cluster's own certificates, and the ConfigMap to which OpenShift then
// writes them, which all drivers share.
bool AsksForTrustedCa(const Context& context);
Json TrustedCa(const Context& context);

// Builds the driver of nodes with that RHCOS version, and the modules of the set's other
// containers, with the toolkit.
void UseToolkit(const Context& context, const std::string& rhcos, NvidiaDaemonSet& set);

}  // namespace gantry::gpu_operator
