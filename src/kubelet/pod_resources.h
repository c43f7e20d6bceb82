// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

// The kubelet's answer to which pod holds which device (pod resources v1).
namespace gantry::kubelet {

struct ContainerDevices {
  std::string resource;          // "nvidia.com/gpu"
  std::vector<std::string> ids;  // as the plugin named them
};

struct ContainerResources {
  std::string name;
  std::vector<ContainerDevices> devices;
};

struct PodResources {
  std::string ns;
  std::string name;
  std::vector<ContainerResources> containers;
};

// What is in use, gpu/pod_list.h asks for. Each call opens a connection of its own and blocks up to
// the time-out. kNotFound: no such socket;
// kUnavailable: nobody answers there yet.
class PodResourcesClient {
 public:
  explicit PodResourcesClient(std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock",
                              std::chrono::milliseconds timeout = std::chrono::seconds(5));

  // Every device that the kubelet could give, in use or not; an entry for each device and NUMA
  // node.
  [[nodiscard]] Result<std::vector<ContainerDevices>> Allocatable() const;

 private:
  std::string socket_;
  std::chrono::milliseconds timeout_;
};

}  // namespace gantry::kubelet
