// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace gantry::policy {

struct ClusterPolicy;
struct OperandSpec;

// The condition under which a policy enables an operand.
enum class When {
  kAlways,
  kNever,              // known by name, deprecated
  kSwitchedOn,         // its section's `enabled`
  kUnlessNri,          // not if devices come by NRI, or by resource claims
  kUnlessDriverCrd,    // its section's `enabled`, and drivers do not come from NVIDIADrivers
  kSandbox,            // sandboxWorkloads.enabled
  kSandboxSwitchedOn,  // both
  kSandboxUnlessDriverCrd,
  kKubevirt,  // both, and sandboxWorkloads.mode is "kubevirt"
  kKata,
};

// The default image of an operand.
enum class Runs {
  kNothing,  // it has no pods
  kOurs,     // this release's
  kTheirs,   // none: only an NVIDIA image has it, and the section must name that
  kSpare,    // none, and that is no error: a user of NVIDIA's names it
};

// An operand, in the order of deployment.
enum class OperandId {
  kNodeFeatures,
  kPreRequisites,
  kOperatorMetrics,
  kDriver,
  kContainerToolkit,
  kOperatorValidation,
  kDevicePlugin,
  kMpsControlDaemon,
  kDcgm,
  kDcgmExporter,
  kGpuFeatureDiscovery,
  kMigManager,
  kNodeStatusExporter,
  kVgpuManager,
  kVgpuDeviceManager,
  kSandboxValidation,
  kVfioManager,
  kSandboxDevicePlugin,
  kKataDevicePlugin,
  kKataManager,
  kCcManager,
  kCudaToolkit,
  kDraDriver,
};

// The workload of a node's GPUs: nvidia.com/gpu.workload.config, and for GPU passthrough to virtual
// machines sandboxWorkloads.mode. kClaims: containers get GPUs by resource claims (a GPUCluster).
enum class Workload { kContainer, kPassthrough, kKata, kVgpu, kClaims };

// The workloads whose nodes get an operand (contract: gpu-operator's sets of deploy labels).
struct Workloads {
  bool container = false;
  bool passthrough = false;
  bool kata = false;
  bool vgpu = false;
  bool claims = false;
  [[nodiscard]] constexpr bool Have(Workload workload) const {
    switch (workload) {
      case Workload::kContainer:
        return container;
      case Workload::kPassthrough:
        return passthrough;
      case Workload::kKata:
        return kata;
      case Workload::kVgpu:
        return vgpu;
      case Workload::kClaims:
        return claims;
    }
    return false;
  }
};

// What OpenShift must allow an operand's pods besides `privileged`: SecurityContextConstraints,
// named as their default service account.
struct Constraints {
  std::string_view account = {};  // empty: none are needed
  bool host_pid = false;
  bool host_ipc = false;
  bool host_network = false;
  bool host_ports = false;
};

// One operand, under NVIDIA's name of its state: all facts about it but its objects, which
// operator/desired makes.
struct Operand {
  OperandId id;
  std::string_view state;         // "state-device-plugin": in status and messages
  std::string_view section = {};  // of spec, with its switch; empty: no switch of its own
  // The member with its image, arguments and environment; or nullptr.
  OperandSpec ClusterPolicy::* spec = nullptr;
  bool on = true;  // whether `enabled` defaults to true
  When when;
  std::string_view daemon_set = {};  // empty: none
  std::string_view deploy = {};      // suffix of its deploy label, a key of ClusterFacts::labelled
  Runs runs;
  Workloads workloads = {};  // whose nodes get that label
  Constraints constraints = {};
};

// All of them, in the order of deployment.
std::span<const Operand> Operands();

// nullptr if the section is not an operand's.
const Operand* OperandOfSection(std::string_view section);
const Operand& OperandOf(OperandId id);

// Suffixes of the deploy labels that nodes for this workload get.
std::vector<std::string_view> DeployedFor(Workload workload);

// Whether the policy enables it: its switch, and the conditions that NVIDIA's operator adds.
bool Wanted(const Operand& operand, const ClusterPolicy& policy);

// Whether there is an image for it, or none is needed.
bool HasImage(const Operand& operand, const ClusterPolicy& policy);

// Whether the policy has everything it needs to run: that image, and for the vGPU device manager
// the table of types, which no release includes because it depends on the user's licence.
bool CanRun(const Operand& operand, const ClusterPolicy& policy);
// Whether drivers run in containers: this policy's, or those of NVIDIADriver objects.
bool DriversInContainers(const ClusterPolicy& policy);

}  // namespace gantry::policy
