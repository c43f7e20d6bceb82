// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/pci.h"
#include "operands/validator/verdict.h"

// Judges observations of a node's kernel modules and of its GPUs for virtual machines.
namespace gantry::validator {

// `asked`: this node should have the module.
Finding JudgeModule(const std::string& module, bool asked, bool loaded);

struct MofedObservation {
  bool asked = false;         // GPU_DIRECT_RDMA_ENABLED
  bool mellanox = false;      // there is a PCI function of that vendor
  bool host_mofed = false;    // USE_HOST_MOFED: the host has the driver
  bool module = false;        // mlx5_core is loaded
  bool driver_ready = false;  // the driver container has reported it
};
Finding JudgeMofed(const MofedObservation& seen);

// A node's workload: its label nvidia.com/gpu.workload.config, else `fallback`, else NVIDIA's
// vm-passthrough. Other values than NVIDIA's three count as unset.
std::string WorkloadOf(const std::map<std::string, std::string>& labels,
                       const std::string& fallback);

// Every GPU of a node for passthrough is bound to a VFIO driver, and no driver of the host has
// another function of its IOMMU group. `why`: what Gantry's VFIO manager says about one that is
// not; empty: nothing.
Finding JudgeVfio(const std::string& workload, const std::vector<host::PciFunction>& functions,
                  const std::string& why = "");

// A physical GPU that a vGPU manager divides.
struct VgpuParent {
  std::string address;
  int virtual_functions = 0;  // sriov_totalvfs: its maximum
  int enabled = 0;            // sriov_numvfs
  bool mdev_parent = false;   // below /sys/class/mdev_bus
};
// `asked` is the result of the driver's nvidia-smi. If any virtual functions are enabled, all must
// be; a parent of mediated devices needs none (Turing has such functions, which stay disabled).
Finding JudgeVgpuManager(const std::string& workload, const Answer& asked,
                         const std::vector<VgpuParent>& gpus);

// `devices`: the number of virtual GPUs.
Finding JudgeVgpuDevices(const std::string& workload, int devices);

// `capable`: the node's label nvidia.com/cc.capable is "true".
Finding JudgeCcManager(bool capable, bool manager_ready);

}  // namespace gantry::validator
