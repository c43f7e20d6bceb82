// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/driver_files.h"
#include "container/nvidia_cdi.h"

// A node's driver and GPUs, kept in a file that is updated when they change, so that a container
// start neither loads NVML nor reads a hundred libraries.
namespace gantry::container {

inline constexpr char kInventoryPath[] = "/run/nvidia/toolkit/inventory.json";

// The properties that a requirement of an image can name (NVIDIA_REQUIRE_*).
struct GpuKind {
  std::string brand;         // "tesla"; empty: not known
  std::string architecture;  // compute capability: "8.0"; empty: not known
  bool operator==(const GpuKind&) const = default;
};

struct NodeInventory {
  DriverPlace driver;  // as the host spells it
  DriverInventory files;
  std::vector<CdiGpu> gpus;
  std::vector<GpuKind> kinds;  // of `gpus`, in their order
};

std::string InventoryText(const NodeInventory& inventory);
// kInvalid if it is not an inventory, or of another version.
Result<NodeInventory> ParseInventory(std::string_view text);

}  // namespace gantry::container
