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
