// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/desired/nvidia_pod.h"

namespace gantry::gpu_operator {

// The parts of a driver's pod that depend on the nodes' system and on users' ConfigMaps.

// The context for the DaemonSet of these nodes.
Context ForPart(const Context& context, const DriverPart& part);
// A DaemonSet that selects nodes by their system has the system as a label.
void MarkSystem(const Json& nodes, DaemonSet& set);

// Every key of a ConfigMap as a file in `directory`. kInvalid, with `field` of spec, while the
// ConfigMap does not exist.
Status MountKeys(const Context& context, DaemonSet& set, const std::vector<Container*>& users,
                 std::string_view volume, const std::string& config_map, std::string_view directory,
                 std::string_view field);

// licensingConfig and virtualTopology, for the main container.
void AddLicensing(const policy::DriverOptions& options, DaemonSet& set);
// Fields of spec, for messages.
struct SourceFields {
  std::string repo;
  std::string cert;
};
// repoConfig and certConfig for all builders; for the main container, subscriptions of the nodes'
// system, and /lib/modules for precompiled drivers on SUSE.
Status AddPackageSources(const Context& context, DaemonSet& set,
                         const std::vector<Container*>& builders, const SourceFields& fields);

// "repository/image:version-ubuntu22.04", with the kernel before the system for a precompiled
// driver, also if the tag already has them; an image by digest does not change.
std::string ForSystem(const std::string& image, const SystemFacts& system,
                      std::string_view kernel = {});
// The system that an image's tag ends with ("ubuntu22.04"); empty: no known one.
std::string SystemOfImage(std::string_view image);

}  // namespace gantry::gpu_operator
