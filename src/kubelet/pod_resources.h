// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

// Which pod holds which device, from the kubelet (pod resources v1).
namespace gantry::kubelet {

struct ContainerDevices {
  std::string resource;          // "nvidia.com/gpu"
  std::vector<std::string> ids;  // the plugin's ids
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

// Lists allocatable devices; gpu/pod_list.h lists those in use. Each call opens a connection and
// blocks up to the timeout. kNotFound: no such socket; kUnavailable: no process serves it yet.
class PodResourcesClient {
 public:
  explicit PodResourcesClient(std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock",
                              std::chrono::milliseconds timeout = std::chrono::seconds(5));

  // Every device that the kubelet can allocate, in use or not; an entry for each device and NUMA
  // node.
  [[nodiscard]] Result<std::vector<ContainerDevices>> Allocatable() const;

 private:
  std::string socket_;
  std::chrono::milliseconds timeout_;
};

}  // namespace gantry::kubelet
