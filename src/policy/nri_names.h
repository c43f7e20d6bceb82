// SPDX-License-Identifier: Apache-2.0
#pragma once

// Annotations of pods that the toolkit's NRI plugin follows: lists of CDI devices, by commas.
namespace gantry::names {

// For one container: this and its name.
inline constexpr char kNriContainerDevices[] = "nvidia.cdi.k8s.io/container.";
// For every container of the pod that has none of its own.
inline constexpr char kNriPodDevices[] = "nvidia.cdi.k8s.io/pod";
// The same, weaker.
inline constexpr char kNriDevices[] = "nvidia.cdi.k8s.io";

}  // namespace gantry::names
