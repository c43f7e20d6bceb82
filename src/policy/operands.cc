// SPDX-License-Identifier: Apache-2.0

// Which operands are there, and does a policy ask for one? The one list of them. Names, order and
// enable rules are NVIDIA's states; node-features stands first because NVIDIA gets those labels
// from a sub-chart, and here they come with the operator.

#include "policy/operands.h"

#include <algorithm>
#include <array>

#include "policy/cluster_policy.h"

namespace gantry::policy {
namespace {

constexpr std::array kOperands = std::to_array<Operand>({
    {"node-features", "", "nvidia-node-feature-discovery-worker", "", true},
    {"pre-requisites", "", "", "", true},
    {"state-operator-metrics", "", "", "", true},
    {"state-driver", "driver", "nvidia-driver-daemonset", "driver", false},
    {"state-container-toolkit", "toolkit", "nvidia-container-toolkit-daemonset",
     "container-toolkit", true},
    {"state-operator-validation", "validator", "nvidia-operator-validator", "operator-validator",
     true},
    {"state-device-plugin", "devicePlugin", "nvidia-device-plugin-daemonset", "device-plugin",
     true},
    {"state-mps-control-daemon", "", "nvidia-device-plugin-mps-control-daemon",
     "mps-control-daemon", true},
    {"state-dcgm", "dcgm", "nvidia-dcgm", "dcgm", false},
    {"state-dcgm-exporter", "dcgmExporter", "nvidia-dcgm-exporter", "dcgm-exporter", false},
    {"gpu-feature-discovery", "gfd", "gpu-feature-discovery", "gpu-feature-discovery", true},
    {"state-mig-manager", "migManager", "nvidia-mig-manager", "mig-manager", false},
    {"state-node-status-exporter", "nodeStatusExporter", "nvidia-node-status-exporter",
     "node-status-exporter", true},
    {"state-vgpu-manager", "vgpuManager", "nvidia-vgpu-manager-daemonset", "vgpu-manager", false},
    {"state-vgpu-device-manager", "vgpuDeviceManager", "nvidia-vgpu-device-manager",
     "vgpu-device-manager", false},
    {"state-sandbox-validation", "", "nvidia-sandbox-validator", "sandbox-validator", false},
    {"state-vfio-manager", "vfioManager", "nvidia-vfio-manager", "vfio-manager", false},
    {"state-sandbox-device-plugin", "sandboxDevicePlugin", "nvidia-sandbox-device-plugin-daemonset",
     "sandbox-device-plugin", false},
    {"state-kata-device-plugin", "kataSandboxDevicePlugin",
     "nvidia-kata-sandbox-device-plugin-daemonset", "kata-sandbox-device-plugin", false},
    {"state-kata-manager", "kataManager", "nvidia-kata-manager", "kata-manager", false},
    {"state-cc-manager", "ccManager", "nvidia-cc-manager", "cc-manager", false},
});

bool SwitchedOn(const Operand& operand, const ClusterPolicy& policy) {
  const auto found = policy.enabled.find(operand.section);
  return found != policy.enabled.end() && found->second;
}

}  // namespace

std::span<const Operand> Operands() { return kOperands; }

const Operand* OperandOfSection(std::string_view section) {
  const auto found = std::ranges::find_if(kOperands, [&](const Operand& operand) {
    return !section.empty() && operand.section == section;
  });
  return found == kOperands.end() ? nullptr : &*found;
}

const Operand* OperandOfState(std::string_view state) {
  const auto found = std::ranges::find(kOperands, state, &Operand::state);
  return found == kOperands.end() ? nullptr : &*found;
}

bool Wanted(const Operand& operand, const ClusterPolicy& policy) {
  const std::string_view state = operand.state;
  if (state == "node-features" || state == "state-operator-metrics" ||
      state == "state-operator-validation") {
    return true;
  }
  if (state == "pre-requisites") {
    return !policy.nri;
  }
  if (state == "state-driver") {
    return policy.driver.enabled && !policy.driver_crd;
  }
  // Its pods come to the nodes whose device plugin's configuration asks for MPS.
  if (state == "state-mps-control-daemon") {
    return policy.enabled.contains("devicePlugin") && policy.enabled.at("devicePlugin");
  }
  // Nothing in spec asks for it.
  if (state == "state-kata-manager") {
    return false;
  }
  if (state == "state-sandbox-validation") {
    return policy.sandbox;
  }
  if (state == "state-sandbox-device-plugin") {
    return policy.sandbox && policy.sandbox_mode == "kubevirt" && SwitchedOn(operand, policy);
  }
  if (state == "state-kata-device-plugin" || state == "state-cc-manager") {
    return policy.sandbox && policy.sandbox_mode == "kata" && SwitchedOn(operand, policy);
  }
  if (state == "state-vgpu-manager" || state == "state-vgpu-device-manager" ||
      state == "state-vfio-manager") {
    return policy.sandbox && SwitchedOn(operand, policy);
  }
  return SwitchedOn(operand, policy);
}

}  // namespace gantry::policy
