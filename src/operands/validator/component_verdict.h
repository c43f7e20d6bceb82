// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/pci.h"
#include "operands/validator/verdict.h"

// What was seen of a node's kernel modules and of its GPUs for virtual machines, judged.
namespace gantry::validator {

// `asked`: this node is to have the module.
Finding JudgeModule(const std::string& module, bool asked, bool loaded);

struct MofedObservation {
  bool asked = false;         // GPU_DIRECT_RDMA_ENABLED
  bool mellanox = false;      // there is a PCI function of that vendor
  bool host_mofed = false;    // USE_HOST_MOFED: the host brings the driver
  bool module = false;        // mlx5_core is loaded
  bool driver_ready = false;  // the driver container has said so
};
Finding JudgeMofed(const MofedObservation& seen);

// What a node is for: its label nvidia.com/gpu.workload.config, else `fallback`, else NVIDIA's
// vm-passthrough. What is none of NVIDIA's three words counts as nothing.
std::string WorkloadOf(const std::map<std::string, std::string>& labels,
                       const std::string& fallback);

// Every GPU of a node for passing through is held by a VFIO driver.
Finding JudgeVfio(const std::string& workload, const std::vector<host::PciFunction>& functions);

// A physical GPU that a vGPU manager divides.
struct VgpuParent {
  std::string address;
  int virtual_functions = 0;  // sriov_totalvfs: as many as it can have
  int enabled = 0;            // sriov_numvfs
  bool mdev_parent = false;   // below /sys/class/mdev_bus
};
// `asked` is the answer of the driver's nvidia-smi. Once virtual functions are enabled, all of them
// have to be; a parent of mediated devices needs none (Turing has such functions, and they stay
// off).
Finding JudgeVgpuManager(const std::string& workload, const Answer& asked,
                         const std::vector<VgpuParent>& gpus);

// `devices`: virtual GPUs that are there.
Finding JudgeVgpuDevices(const std::string& workload, int devices);

// `capable`: the node's label nvidia.com/cc.capable is "true".
Finding JudgeCcManager(bool capable, bool manager_ready);

}  // namespace gantry::validator
