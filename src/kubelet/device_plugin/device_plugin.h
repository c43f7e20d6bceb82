// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

// The contents of the kubelet's device plugin protocol (v1beta1), as plain values.
namespace gantry::kubelet {

struct Device {
  std::string id;  // at most 63 characters
  bool healthy = true;
  std::vector<int64_t> numa_nodes;  // empty: no hint
  auto operator<=>(const Device&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  auto operator<=>(const Mount&) const = default;
};

struct DeviceSpec {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // of the cgroup: "rw", "mrw"
  auto operator<=>(const DeviceSpec&) const = default;
};

// The response for a container's allocated devices.
struct Allocation {
  std::vector<std::pair<std::string, std::string>> envs;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::vector<Mount> mounts;
  std::vector<DeviceSpec> devices;
  std::vector<std::string> cdi_devices;  // "vendor/class=name"
  auto operator<=>(const Allocation&) const = default;
};

struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> required;  // must be part of the result
  int size = 0;
};

// Decides the kubelet's two calls. Called from the server's thread: works from memory and never
// blocks. An error's kind becomes the gRPC code (kInvalid: INVALID_ARGUMENT, kNotFound: NOT_FOUND,
// else INTERNAL); its message is the pod's admission error.
class Allocator {
 public:
  virtual ~Allocator() = default;
  [[nodiscard]] virtual Result<Allocation> Allocate(const std::vector<std::string>& ids) const = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> Prefer(
      const PreferredRequest& request) const = 0;
};

}  // namespace gantry::kubelet
