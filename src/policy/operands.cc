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

using P = ClusterPolicy;

constexpr std::array kOperands = std::to_array<Operand>({
    {"node-features", "", nullptr, true, When::kAlways, "nvidia-node-feature-discovery-worker", "",
     Runs::kOurs},
    {"pre-requisites", "", nullptr, true, When::kUnlessNri, "", "", Runs::kNothing},
    {"state-operator-metrics", "", nullptr, true, When::kAlways, "", "", Runs::kNothing},
    {"state-driver", "driver", &P::driver, true, When::kUnlessDriverCrd, "nvidia-driver-daemonset",
     "driver", Runs::kTheirs},
    {"state-container-toolkit", "toolkit", &P::toolkit, true, When::kSwitchedOn,
     "nvidia-container-toolkit-daemonset", "container-toolkit", Runs::kOurs},
    {"state-operator-validation", "validator", &P::validator, true, When::kAlways,
     "nvidia-operator-validator", "operator-validator", Runs::kOurs},
    {"state-device-plugin", "devicePlugin", &P::device_plugin, true, When::kSwitchedOn,
     "nvidia-device-plugin-daemonset", "device-plugin", Runs::kOurs},
    // Its pods come to the nodes whose device plugin's configuration asks for MPS.
    {"state-mps-control-daemon", "", &P::device_plugin, true, When::kSwitchedOn,
     "nvidia-device-plugin-mps-control-daemon", "mps-control-daemon", Runs::kOurs},
    {"state-dcgm", "dcgm", &P::dcgm, true, When::kSwitchedOn, "nvidia-dcgm", "dcgm", Runs::kSpare},
    {"state-dcgm-exporter", "dcgmExporter", &P::dcgm_exporter, true, When::kSwitchedOn,
     "nvidia-dcgm-exporter", "dcgm-exporter", Runs::kOurs},
    {"gpu-feature-discovery", "gfd", &P::gfd, true, When::kSwitchedOn, "gpu-feature-discovery",
     "gpu-feature-discovery", Runs::kOurs},
    {"state-mig-manager", "migManager", &P::mig_manager, true, When::kSwitchedOn,
     "nvidia-mig-manager", "mig-manager", Runs::kTheirs},
    {"state-node-status-exporter", "nodeStatusExporter", &P::node_status_exporter, false,
     When::kSwitchedOn, "nvidia-node-status-exporter", "node-status-exporter", Runs::kOurs},
    {"state-vgpu-manager", "vgpuManager", &P::vgpu_manager, false, When::kSandboxUnlessDriverCrd,
     "nvidia-vgpu-manager-daemonset", "vgpu-manager", Runs::kTheirs},
    {"state-vgpu-device-manager", "vgpuDeviceManager", &P::vgpu_device_manager, false,
     When::kSandboxSwitchedOn, "nvidia-vgpu-device-manager", "vgpu-device-manager", Runs::kTheirs},
    {"state-sandbox-validation", "", &P::validator, true, When::kSandbox,
     "nvidia-sandbox-validator", "sandbox-validator", Runs::kOurs},
    {"state-vfio-manager", "vfioManager", &P::vfio_manager, false, When::kSandboxSwitchedOn,
     "nvidia-vfio-manager", "vfio-manager", Runs::kTheirs},
    {"state-sandbox-device-plugin", "sandboxDevicePlugin", &P::sandbox_device_plugin, false,
     When::kKubevirt, "nvidia-sandbox-device-plugin-daemonset", "sandbox-device-plugin",
     Runs::kTheirs},
    {"state-kata-device-plugin", "kataSandboxDevicePlugin", &P::kata_device_plugin, false,
     When::kKata, "nvidia-kata-sandbox-device-plugin-daemonset", "kata-sandbox-device-plugin",
     Runs::kTheirs},
    {"state-kata-manager", "kataManager", &P::kata_manager, false, When::kNever,
     "nvidia-kata-manager", "kata-manager", Runs::kTheirs},
    {"state-cc-manager", "ccManager", &P::cc_manager, false, When::kKata, "nvidia-cc-manager",
     "cc-manager", Runs::kTheirs},
    // Ours alone, after NVIDIA's states: only a GPUClusterPolicy asks for it. Its pods come to the
    // nodes whose containers get GPUs.
    {"state-cuda-toolkit", "cuda", &P::cuda, false, When::kSwitchedOn,
     "nvidia-cuda-toolkit-daemonset", "device-plugin", Runs::kOurs},
});

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
  const bool on = operand.spec != nullptr && (policy.*operand.spec).enabled;
  const bool sandbox = policy.sandbox && on;
  switch (operand.when) {
    case When::kAlways:
      return true;
    case When::kNever:
      return false;
    case When::kSwitchedOn:
      return on;
    case When::kUnlessNri:
      return !policy.nri;
    case When::kUnlessDriverCrd:
      return on && !policy.driver_options.crd;
    case When::kSandbox:
      return policy.sandbox;
    case When::kSandboxSwitchedOn:
      return sandbox;
    case When::kSandboxUnlessDriverCrd:
      return sandbox && !policy.driver_options.crd;
    case When::kKubevirt:
      return sandbox && policy.sandbox_mode == "kubevirt";
    case When::kKata:
      return sandbox && policy.sandbox_mode == "kata";
  }
  return false;
}

bool HasImage(const Operand& operand, const ClusterPolicy& policy) {
  if (operand.runs != Runs::kTheirs && operand.runs != Runs::kSpare) {
    return true;
  }
  return operand.spec != nullptr && !((policy.*operand.spec).image.repository.empty() &&
                                      (policy.*operand.spec).image.image.empty());
}

bool CanRun(const Operand& operand, const ClusterPolicy& policy) {
  const bool has_table =
      operand.spec != &ClusterPolicy::vgpu_device_manager || !policy.vgpu_config.empty();
  return has_table && HasImage(operand, policy);
}

bool DriversInContainers(const ClusterPolicy& policy) {
  const Operand* driver = OperandOfState("state-driver");
  return policy.driver_options.crd || (Wanted(*driver, policy) && HasImage(*driver, policy));
}

}  // namespace gantry::policy
