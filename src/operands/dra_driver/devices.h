// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "gpu/gpu_set.h"

// The devices of the driver gpu.nvidia.com: which a node has, and how a ResourceSlice describes
// them. Names, attributes and capacities are those of NVIDIA's driver (v0.5).
namespace gantry::dra_driver {

enum class DeviceType { kGpu, kMig };

// A full GPU, or a MIG device that exists.
struct Device {
  std::string name;  // "gpu-3", "gpu-0-mig-1g10gb-19-0"
  DeviceType type = DeviceType::kGpu;
  std::string uuid = {};              // "GPU-...", "MIG-..."
  size_t gpu_at = 0;                  // its GPU's index in the set
  std::optional<size_t> mig_at = {};  // its index among that GPU's MIG devices
  Json published = {};                // as an entry of a slice's `devices`
};

struct Devices {
  std::vector<Device> devices;        // by minor number, MIG devices by profile and place
  std::vector<std::string> left_out;  // a sentence for each thing that is not offered

  // Null: there is none of that name.
  [[nodiscard]] const Device* Find(std::string_view name) const;
};

// `pcie_roots`: of each GPU by its PCI address, "pci0000:3a"; those without one may be missing.
// A GPU in MIG mode is not a device itself, its MIG devices are.
Devices DevicesOf(const gpu::GpuSet& set, const std::map<std::string, std::string>& pcie_roots);

// Whether two devices of one node, by their names, use the same hardware: the same device, or a
// GPU and a MIG device of it.
bool Overlap(std::string_view one, std::string_view other);

// "535.183.01" -> "535.183.1": a version as the API's type `version` must be (semver 2.0.0).
std::string SemanticVersion(std::string_view version);

// A Kubernetes quantity in its canonical form: 85520809984 -> "81559Mi".
std::string Quantity(uint64_t bytes);

}  // namespace gantry::dra_driver
