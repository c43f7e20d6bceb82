// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "container/cdi.h"
#include "container/cdi_hooks.h"
#include "container/driver_files.h"

// The CDI document of a node's NVIDIA GPUs, made from the driver's files on disk.
namespace gantry::container {

// A MIG device: a compute instance in a GPU instance.
struct CdiMig {
  std::string uuid;                // "MIG-..."
  int index = 0;                   // among those of its GPU, as NVML counts
  std::vector<std::string> nodes;  // of its two instances: MigNodes() of driver_files.h
  bool graphics = false;           // its profile has graphics: the GPU's DRM nodes go with it
};

struct CdiGpu {
  std::string uuid;                // "GPU-..."
  int index = 0;                   // as NVML counts
  int minor = 0;                   // of /dev/nvidia<minor>
  std::string pci_bus_id;          // as sysfs spells it: "0000:65:00.0"
  std::vector<std::string> nodes;  // further device nodes of it
  bool mig_enabled = false;        // then the GPU itself is not a device
  std::vector<CdiMig> mig = {};
  std::vector<std::string> drm_nodes = {};  // "/dev/dri/card1", ...; NvidiaCdi() looks for them
  std::optional<bool> coherent = {};        // of the CPU's memory; nullopt: not known
};

// GPU-... and MIG-...; 0 and 0:1; gpu0 and mig0:1.
enum class CdiNaming { kUuid, kIndex, kTypeIndex };

struct CdiInput {
  DriverPlace driver;
  std::string kind;  // names::kDevicePluginCdiKind
  std::vector<CdiGpu> gpus;
  std::vector<CdiNaming> naming = {CdiNaming::kUuid};
  bool all_device = true;  // also a device "all": the union of the others
  HookProgram hook;
  HookSwitches hook_switches;
  bool additional_gids = true;  // groups of nodes that are not open to all users
  bool coherence = false;       // whole GPUs are annotated with `coherent`
  bool sockets = true;          // of the driver's daemons
};

// Feature flags of NVIDIA's library that makes documents (nvcdi): all of them, and the effect of a
// list.
const std::vector<std::string_view>& CdiFeatures();
void TakeFeatures(const std::vector<std::string>& features, CdiInput& input);

// The document for workloads: one device for each GPU, or MIG device of it, and name. Blocks on the
// disk only. kNotFound: there is no driver library under the root.
Result<CdiSpec> NvidiaCdi(const CdiInput& input);

// The document for management containers (kind management.nvidia.com/gpu): one device `all` with
// every node of the driver under /dev. kNotFound if there is no driver library or no device node.
Result<CdiSpec> ManagementCdi(const CdiInput& input);

// The same from an existing inventory: values in, values out.
CdiSpec NvidiaCdiFrom(const CdiInput& input, const DriverInventory& found);
CdiSpec ManagementCdiFrom(const CdiInput& input, const DriverInventory& found);

// A document for the coherent GPUs and one for the others, of the class with that infix
// (gpu.coherent, gpu.noncoherent). None without such a GPU, or without annotated ones.
struct CdiPart {
  std::string infix;  // ".coherent", also of its file's name
  CdiSpec spec;
};
std::vector<CdiPart> PartsByCoherence(const CdiSpec& spec, bool all_device);

// How a file of the driver is mounted into a container (nvidia-container-toolkit 1.17, CDI
// documents).
const std::vector<std::string>& FileMountOptions();

}  // namespace gantry::container
