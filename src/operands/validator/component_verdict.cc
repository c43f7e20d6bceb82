// SPDX-License-Identifier: Apache-2.0
// Does a node meet a component of NVIDIA's validator, besides driver, toolkit, CUDA and plugin?
// Decided by kernel modules and sysfs. A component that the node does not need succeeds without a
// file, as in NVIDIA's validator.
#include "operands/validator/component_verdict.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "gpu/vfio.h"
#include "policy/names.h"
#include "policy/reasons.h"

namespace gantry::validator {
namespace {

using State = Finding::State;

Finding Made(State state, std::string reason, std::string message, std::string remedy = "") {
  return {.state = state,
          .reason = std::move(reason),
          .message = std::move(message),
          .remedy = std::move(remedy),
          .values = {}};
}

Finding Lacking(const reasons::Reason& reason, std::string message, std::string remedy) {
  return Made(State::kNotReady, reason.code, std::move(message), std::move(remedy));
}

Finding NotFor(const std::string& workload) {
  return Made(State::kNotNeeded, "NotNeeded", format("this node is for {}", workload));
}

}  // namespace

Finding JudgeModule(const std::string& module, bool asked, bool loaded) {
  if (!asked) {
    return Made(State::kNotNeeded, "NotNeeded", format("{} is not asked for", module));
  }
  return loaded ? Made(State::kReady, "ModuleLoaded", module)
                : Lacking(reasons::kModuleNotLoaded,
                          format("the kernel module {} is not loaded", module),
                          format("run `modprobe {}` on the node", module));
}

Finding JudgeMofed(const MofedObservation& seen) {
  if (!seen.asked || !seen.mellanox) {
    return Made(State::kNotNeeded, "NotNeeded",
                seen.asked ? "this node has no Mellanox network device" : "RDMA is not enabled");
  }
  if (seen.host_mofed) {
    return JudgeModule("mlx5_core", true, seen.module);
  }
  return seen.driver_ready
             ? Made(State::kReady, "MofedReady", "the MOFED driver's container is ready")
             : Lacking(reasons::kMofedNotReady, "/run/mellanox/drivers/.driver-ready is not there",
                       "look at the log of the MOFED driver's pod on this node");
}

std::string WorkloadOf(const std::map<std::string, std::string>& labels,
                       const std::string& fallback) {
  static constexpr std::array<std::string_view, 3> kWords = {"container", "vm-passthrough",
                                                             "vm-vgpu"};
  const auto known = [](const std::string& word) {
    return std::ranges::find(kWords, word) != kWords.end();
  };
  const auto asked = labels.find(names::kWorkloadConfig);
  if (asked != labels.end() && known(asked->second)) {
    return asked->second;
  }
  return known(fallback) ? fallback : "vm-passthrough";
}

Finding JudgeVfio(const std::string& workload, const std::vector<host::PciFunction>& functions,
                  const std::string& why) {
  if (workload != "vm-passthrough") {
    return NotFor(workload);
  }
  const auto lacking = [&](const std::string& message) {
    return Lacking(reasons::kGpuNotBoundToVfio,
                   why.empty() ? message : format("{}: {}", message, why),
                   "look at the log of the VFIO manager's pod on this node");
  };
  int bound = 0;
  for (const host::PciFunction& function : functions) {
    if (!host::IsNvidiaGpu(function) || function.virtual_function) {
      continue;
    }
    if (!gpu::IsVfioDriver(function.driver)) {
      return lacking(format("GPU {} is bound to {}", function.address,
                            function.driver.empty() ? "no driver" : function.driver));
    }
    for (const host::PciFunction& other : functions) {
      if (other.iommu_group == function.iommu_group && function.iommu_group >= 0 &&
          gpu::KeepsItsGroup(other.driver)) {
        return lacking(
            format("GPU {} can't be handed to a virtual machine: {} of its IOMMU group "
                   "is bound to {}",
                   function.address, other.address, other.driver));
      }
    }
    ++bound;
  }
  return Made(State::kReady, "BoundToVfio", format("{} GPU(s)", bound));
}

Finding JudgeVgpuManager(const std::string& workload, const Answer& asked,
                         const std::vector<VgpuParent>& gpus) {
  if (workload != "vm-vgpu") {
    return NotFor(workload);
  }
  if (asked.end != Answer::End::kSaid || asked.exit_code != 0) {
    return Lacking(reasons::kVgpuManagerFails, "nvidia-smi of the vGPU manager fails",
                   "look at the log of the vGPU manager's pod on this node");
  }
  const bool functions =
      std::ranges::any_of(gpus, [](const VgpuParent& gpu) { return gpu.enabled > 0; });
  const bool mediated = std::ranges::any_of(gpus, &VgpuParent::mdev_parent);
  for (const VgpuParent& gpu : gpus) {
    const bool needs_none = gpu.mdev_parent && gpu.enabled == 0;
    if (gpu.enabled < gpu.virtual_functions && !needs_none && (functions || !mediated)) {
      return Lacking(reasons::kVirtualFunctionsMissing,
                     format("{} of {} virtual functions of GPU {} are enabled", gpu.enabled,
                            gpu.virtual_functions, gpu.address),
                     "run sriov-manage -e ALL in the vGPU manager's container");
    }
  }
  if (!functions && !mediated) {
    return Lacking(reasons::kNotDivisible, "no GPU offers virtual functions or mediated devices",
                   "look whether this card and this driver have vGPU");
  }
  return Made(State::kReady, "VgpuManagerReady", format("{} GPU(s)", gpus.size()));
}

Finding JudgeVgpuDevices(const std::string& workload, int devices) {
  if (workload != "vm-vgpu") {
    return NotFor(workload);
  }
  return devices > 0 ? Made(State::kReady, "VgpuDevices", format("{} virtual GPU(s)", devices))
                     : Lacking(reasons::kNoVgpuDevices, "there is no virtual GPU",
                               "look at the log of the vGPU device manager's pod on this node");
}

Finding JudgeCcManager(bool capable, bool manager_ready) {
  if (!capable) {
    return Made(State::kReady, "NotCapable", "this node is not labelled as cc.capable");
  }
  return manager_ready ? Made(State::kReady, "CcManagerReady", "the mode is set")
                       : Lacking(reasons::kCcManagerNotReady,
                                 "the confidential computing manager has not said that it is ready",
                                 "look at the log of its pod on this node");
}

}  // namespace gantry::validator
