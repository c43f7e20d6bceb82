// SPDX-License-Identifier: Apache-2.0

// Which operands exist, and does a policy request one? The one list of them. Names, order and
// enable rules are those of NVIDIA's states. node-features is first: NVIDIA gets those labels from
// a sub-chart, Gantry from this operand.

#include "policy/operands.h"

#include <algorithm>
#include <array>

#include "policy/cluster_policy.h"

namespace gantry::policy {
namespace {

using P = ClusterPolicy;

// NVIDIA's label for anything else that a user deploys on GPU nodes.
constexpr std::string_view kClient = "client";

constexpr std::array kOperands = std::to_array<Operand>({
    {.id = OperandId::kNodeFeatures,
     .state = "node-features",
     .when = When::kAlways,
     .daemon_set = "nvidia-node-feature-discovery-worker",
     .runs = Runs::kOurs},
    {.id = OperandId::kPreRequisites,
     .state = "pre-requisites",
     .when = When::kUnlessNri,
     .runs = Runs::kNothing},
    {.id = OperandId::kOperatorMetrics,
     .state = "state-operator-metrics",
     .when = When::kAlways,
     .runs = Runs::kNothing},
    {.id = OperandId::kDriver,
     .state = "state-driver",
     .section = "driver",
     .spec = &P::driver,
     .when = When::kUnlessDriverCrd,
     .daemon_set = "nvidia-driver-daemonset",
     .deploy = "driver",
     .runs = Runs::kTheirs,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-driver", .host_pid = true}},
    {.id = OperandId::kContainerToolkit,
     .state = "state-container-toolkit",
     .section = "toolkit",
     .spec = &P::toolkit,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-container-toolkit-daemonset",
     .deploy = "container-toolkit",
     .runs = Runs::kOurs,
     .workloads = {.container = true}},
    {.id = OperandId::kOperatorValidation,
     .state = "state-operator-validation",
     .section = "validator",
     .spec = &P::validator,
     .when = When::kAlways,
     .daemon_set = "nvidia-operator-validator",
     .deploy = "operator-validator",
     .runs = Runs::kOurs,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-operator-validator", .host_pid = true}},
    {.id = OperandId::kDevicePlugin,
     .state = "state-device-plugin",
     .section = "devicePlugin",
     .spec = &P::device_plugin,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-device-plugin-daemonset",
     .deploy = "device-plugin",
     .runs = Runs::kOurs,
     .workloads = {.container = true}},
    // Its pods run on nodes whose device plugin configuration has MPS.
    {.id = OperandId::kMpsControlDaemon,
     .state = "state-mps-control-daemon",
     .spec = &P::device_plugin,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-device-plugin-mps-control-daemon",
     .deploy = "mps-control-daemon",
     .runs = Runs::kOurs},
    {.id = OperandId::kDcgm,
     .state = "state-dcgm",
     .section = "dcgm",
     .spec = &P::dcgm,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-dcgm",
     .deploy = "dcgm",
     .runs = Runs::kSpare,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-dcgm", .host_network = true, .host_ports = true}},
    {.id = OperandId::kDcgmExporter,
     .state = "state-dcgm-exporter",
     .section = "dcgmExporter",
     .spec = &P::dcgm_exporter,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-dcgm-exporter",
     .deploy = "dcgm-exporter",
     .runs = Runs::kOurs,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-dcgm-exporter", .host_ports = true}},
    {.id = OperandId::kGpuFeatureDiscovery,
     .state = "gpu-feature-discovery",
     .section = "gfd",
     .spec = &P::gfd,
     .when = When::kSwitchedOn,
     .daemon_set = "gpu-feature-discovery",
     .deploy = "gpu-feature-discovery",
     .runs = Runs::kOurs,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-gpu-feature-discovery", .host_pid = true}},
    // Of the nodes for containers, only those with MIG capable GPUs get it (node_labels).
    {.id = OperandId::kMigManager,
     .state = "state-mig-manager",
     .section = "migManager",
     .spec = &P::mig_manager,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-mig-manager",
     .deploy = "mig-manager",
     .runs = Runs::kOurs,
     .workloads = {.container = true, .claims = true},
     .constraints = {.account = "nvidia-mig-manager", .host_pid = true, .host_ipc = true}},
    {.id = OperandId::kNodeStatusExporter,
     .state = "state-node-status-exporter",
     .section = "nodeStatusExporter",
     .spec = &P::node_status_exporter,
     .on = false,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-node-status-exporter",
     .deploy = "node-status-exporter",
     .runs = Runs::kOurs,
     .workloads = {.container = true},
     .constraints = {.account = "nvidia-node-status-exporter"}},
    {.id = OperandId::kVgpuManager,
     .state = "state-vgpu-manager",
     .section = "vgpuManager",
     .spec = &P::vgpu_manager,
     .on = false,
     .when = When::kSandboxUnlessDriverCrd,
     .daemon_set = "nvidia-vgpu-manager-daemonset",
     .deploy = "vgpu-manager",
     .runs = Runs::kTheirs,
     .workloads = {.vgpu = true},
     .constraints = {.account = "nvidia-vgpu-manager", .host_pid = true}},
    {.id = OperandId::kVgpuDeviceManager,
     .state = "state-vgpu-device-manager",
     .section = "vgpuDeviceManager",
     .spec = &P::vgpu_device_manager,
     .on = false,
     .when = When::kSandboxSwitchedOn,
     .daemon_set = "nvidia-vgpu-device-manager",
     .deploy = "vgpu-device-manager",
     .runs = Runs::kTheirs,
     .workloads = {.vgpu = true},
     .constraints = {.account = "nvidia-vgpu-device-manager"}},
    {.id = OperandId::kSandboxValidation,
     .state = "state-sandbox-validation",
     .spec = &P::validator,
     .when = When::kSandbox,
     .daemon_set = "nvidia-sandbox-validator",
     .deploy = "sandbox-validator",
     .runs = Runs::kOurs,
     .workloads = {.passthrough = true, .kata = true, .vgpu = true},
     .constraints = {.account = "nvidia-sandbox-validator"}},
    {.id = OperandId::kVfioManager,
     .state = "state-vfio-manager",
     .section = "vfioManager",
     .spec = &P::vfio_manager,
     .on = false,
     .when = When::kSandboxSwitchedOn,
     .daemon_set = "nvidia-vfio-manager",
     .deploy = "vfio-manager",
     .runs = Runs::kOurs,
     .workloads = {.passthrough = true, .kata = true},
     .constraints = {.account = "nvidia-vfio-manager"}},
    {.id = OperandId::kSandboxDevicePlugin,
     .state = "state-sandbox-device-plugin",
     .section = "sandboxDevicePlugin",
     .spec = &P::sandbox_device_plugin,
     .on = false,
     .when = When::kKubevirt,
     .daemon_set = "nvidia-sandbox-device-plugin-daemonset",
     .deploy = "sandbox-device-plugin",
     .runs = Runs::kOurs,
     .workloads = {.passthrough = true, .vgpu = true},
     .constraints = {.account = "nvidia-sandbox-device-plugin"}},
    {.id = OperandId::kKataDevicePlugin,
     .state = "state-kata-device-plugin",
     .section = "kataSandboxDevicePlugin",
     .spec = &P::kata_device_plugin,
     .on = false,
     .when = When::kKata,
     .daemon_set = "nvidia-kata-sandbox-device-plugin-daemonset",
     .deploy = "kata-sandbox-device-plugin",
     .runs = Runs::kTheirs,
     .workloads = {.kata = true},
     .constraints = {.account = "nvidia-kata-sandbox-device-plugin"}},
    {.id = OperandId::kKataManager,
     .state = "state-kata-manager",
     .section = "kataManager",
     .spec = &P::kata_manager,
     .on = false,
     .when = When::kNever,
     .daemon_set = "nvidia-kata-manager",
     .deploy = "kata-manager",
     .runs = Runs::kTheirs,
     .workloads = {.passthrough = true, .kata = true}},
    // NVIDIA's constraints are named nvidia-vfio-manager by mistake, and so replace the other ones.
    {.id = OperandId::kCcManager,
     .state = "state-cc-manager",
     .section = "ccManager",
     .spec = &P::cc_manager,
     .on = false,
     .when = When::kKata,
     .daemon_set = "nvidia-cc-manager",
     .deploy = "cc-manager",
     .runs = Runs::kTheirs,
     .workloads = {.passthrough = true, .kata = true, .vgpu = true},
     .constraints = {.account = "nvidia-cc-manager"}},
    // Gantry's own, after NVIDIA's states: only a GPUClusterPolicy requests it. Its pods run on
    // nodes whose containers get GPUs.
    {.id = OperandId::kCudaToolkit,
     .state = "state-cuda-toolkit",
     .section = "cuda",
     .spec = &P::cuda,
     .on = false,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-cuda-toolkit-daemonset",
     .deploy = "device-plugin",
     .runs = Runs::kOurs,
     .constraints = {.account = "nvidia-cuda-toolkit"}},
    // In place of the device plugin. Only a GPUCluster requests it.
    {.id = OperandId::kDraDriver,
     .state = "state-dra-driver",
     .section = "draDriver",
     .spec = &P::dra_driver,
     .on = false,
     .when = When::kSwitchedOn,
     .daemon_set = "nvidia-dra-driver-kubelet-plugin",
     .deploy = "dra-driver",
     .runs = Runs::kOurs,
     .workloads = {.claims = true},
     .constraints = {.account = "nvidia-dra-driver-kubeletplugin"}},
});

// OperandOf finds them by index.
static_assert([] {
  for (size_t i = 0; i < kOperands.size(); ++i) {
    if (kOperands.at(i).id != static_cast<OperandId>(i)) {
      return false;
    }
  }
  return true;
}());

}  // namespace

std::span<const Operand> Operands() { return kOperands; }

const Operand* OperandOfSection(std::string_view section) {
  const auto found = std::ranges::find_if(kOperands, [&](const Operand& operand) {
    return !section.empty() && operand.section == section;
  });
  return found == kOperands.end() ? nullptr : &*found;
}

const Operand& OperandOf(OperandId id) { return kOperands.at(static_cast<size_t>(id)); }

std::vector<std::string_view> DeployedFor(Workload workload) {
  std::vector<std::string_view> deployed = {kClient};
  for (const Operand& operand : kOperands) {
    if (operand.workloads.Have(workload)) {
      deployed.push_back(operand.deploy);
    }
  }
  return deployed;
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
      return !policy.nri && !policy.dra_driver.enabled;
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
  const Operand& driver = OperandOf(OperandId::kDriver);
  return policy.driver_options.crd || (Wanted(driver, policy) && HasImage(driver, policy));
}

}  // namespace gantry::policy
