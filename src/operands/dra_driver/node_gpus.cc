// SPDX-License-Identifier: Apache-2.0
// What does a container get that has a claim's devices? What the device plugin's containers get,
// under the claim's own names. The driver's files are read once a look, not once a claim.
#include "operands/dra_driver/node_gpus.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "gpu/cdi_gpu.h"
#include "host/pci.h"
#include "operands/dra_driver/claim_plan.h"

namespace gantry::dra_driver {

Result<container::CdiSpec> ClaimCdi(const std::string& uid, const std::vector<std::string>& names,
                                    const NodeGpus& node) {
  container::CdiInput input = node.cdi;
  input.gpus.clear();
  input.kind = kClaimCdiKind;
  input.all_device = false;
  std::map<std::string, std::string> name_of;  // by UUID
  for (const std::string& name : names) {
    const Device* device = node.devices.Find(name);
    if (device == nullptr) {
      return Fail(ErrorKind::kNotFound, format("device {} is not on this node", name));
    }
    name_of[device->uuid] = name;
    container::CdiGpu gpu = node.cdi.gpus[device->gpu_at];
    if (device->mig_at.has_value()) {
      gpu.mig = {gpu.mig[*device->mig_at]};
    }
    input.gpus.push_back(std::move(gpu));
  }
  container::CdiSpec spec = container::NvidiaCdiFrom(input, node.files);
  for (container::CdiDevice& device : spec.devices) {
    device.name = ClaimCdiName(uid, name_of[device.name]);
  }
  std::ranges::sort(spec.devices, {}, &container::CdiDevice::name);
  return spec;
}

Result<NodeGpus> FindNodeGpus(gpu::GpuSet set, container::CdiInput cdi) {
  NodeGpus node{.set = std::move(set), .devices = {}, .cdi = std::move(cdi), .files = {}};
  node.cdi.driver.version = node.set.driver_version;
  node.cdi.driver.cuda_version = node.set.cuda_version;
  TRY_ASSIGN(node.files, container::FindDriverFiles(node.cdi.driver));
  std::map<std::string, std::string> roots;
  for (const gpu::Gpu& gpu : node.set.gpus) {
    node.cdi.gpus.push_back(gpu::CdiGpuOf(gpu));
    node.cdi.gpus.back().drm_nodes = container::DrmNodes(node.cdi.driver, gpu.pci_bus_id);
    roots[gpu.pci_bus_id] =
        host::PcieRoot(JoinPath(node.cdi.driver.sys_root, "sys"), gpu.pci_bus_id);
  }
  node.devices = DevicesOf(node.set, roots);
  return node;
}

}  // namespace gantry::dra_driver
