// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kubelet/pod_resources.h"

namespace gantry::gpu {

// Which pod holds which device, asked of the kubelet without a gRPC library, which would cost a
// small program half as much memory again. Blocks, at most `limit`. kNotFound: no such socket;
// kUnavailable: nobody answers there yet; kInternal: an answer of more than 16 MiB, or broken.
Result<std::vector<kubelet::PodResources>> ListPods(const std::string& socket,
                                                    std::chrono::milliseconds limit);

// Every device that the kubelet can allocate from device plugins, in use or not; as ListPods.
Result<std::vector<kubelet::ContainerDevices>> ListAllocatable(const std::string& socket,
                                                               std::chrono::milliseconds limit);

// The answer's message (v1.ListPodResourcesResponse). kInternal: it is broken.
Result<std::vector<kubelet::PodResources>> ParsePodList(std::string_view message);

}  // namespace gantry::gpu
