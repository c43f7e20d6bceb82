// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gpu/gpu.h"
#include "gpu/pod_gpus.h"
#include "kube/object.h"
#include "kubelet/pod_resources.h"

// GPUs that pods have by resource claims (dynamic resource allocation).
namespace gantry::metrics_exporter {

// NVIDIA's, whose devices are GPUs and MIG devices.
inline constexpr char kClaimDriver[] = "gpu.nvidia.com";

struct SliceDevice {
  std::string name;     // "gpu-0"
  std::string uuid;     // of the GPU or MIG device
  std::string profile;  // of a MIG device: "1g.10gb"
  bool operator==(const SliceDevice&) const = default;
};

// A ResourceSlice, a part of what a driver publishes.
struct Slice {
  std::string pool;
  long long generation = 0;
  long long count = 1;  // slices that this generation of the pool has
  std::vector<SliceDevice> devices;
  bool operator==(const Slice&) const = default;
};
// Of resource.k8s.io/v1 or v1beta1.
Slice ProjectSlice(const Json& slice);

// By pool and device.
using SliceDevices = std::map<std::pair<std::string, std::string>, SliceDevice>;
// Of each pool the newest generation of which all slices are there.
SliceDevices CompletePools(const std::vector<Slice>& slices);

// What the API server says of a ResourceClaim: devices that its pods have to look at beside whoever
// uses them (adminAccess), by pool and device.
using AdminDevices = std::set<std::pair<std::string, std::string>>;
AdminDevices ProjectClaim(const Json& claim);
// By namespace and name. Of a claim that is not here nothing is known yet.
using Claims = std::map<kube::Key, AdminDevices>;
// The claims of our driver that these pods have.
std::set<kube::Key> ClaimsOf(const std::vector<kubelet::PodResources>& pods);

// Adds the containers whose claims have devices of ours, with the labels dra_*. Who only looks at a
// device does not use it.
void AddClaimHolders(const std::vector<kubelet::PodResources>& pods, const SliceDevices& devices,
                     const Claims& claims, const std::vector<gpu::Gpu>& gpus,
                     gpu::Holders& holders);

}  // namespace gantry::metrics_exporter
