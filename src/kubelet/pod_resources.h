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
  bool operator==(const ContainerDevices&) const = default;
};

// A device of a resource claim (dynamic resource allocation).
struct ClaimDevice {
  std::string claim;  // its name
  std::string ns;     // the claim's
  std::string driver;
  std::string pool;
  std::string device;
  bool operator==(const ClaimDevice&) const = default;
};

struct ContainerResources {
  std::string name;
  std::vector<ContainerDevices> devices;
  std::vector<ClaimDevice> claims = {};
  bool operator==(const ContainerResources&) const = default;
};

struct PodResources {
  std::string ns;
  std::string name;
  std::vector<ContainerResources> containers;
  bool operator==(const PodResources&) const = default;
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
