// SPDX-License-Identifier: Apache-2.0
#pragma once

// Annotations of pods that the toolkit's NRI plugin reads: comma-separated lists of CDI devices.
namespace gantry::names {

// For one container: this and its name.
inline constexpr char kNriContainerDevices[] = "nvidia.cdi.k8s.io/container.";
// For every container of the pod without its own.
inline constexpr char kNriPodDevices[] = "nvidia.cdi.k8s.io/pod";
// The same, with less precedence.
inline constexpr char kNriDevices[] = "nvidia.cdi.k8s.io";

}  // namespace gantry::names
