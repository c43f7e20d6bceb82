// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace gantry::policy {

struct ClusterPolicy;
struct OperandSpec;

// On what it depends whether a policy asks for an operand.
enum class When {
  kAlways,
  kNever,              // known by name, deprecated
  kSwitchedOn,         // its section's `enabled`
  kUnlessNri,          // not while devices come by NRI
  kUnlessDriverCrd,    // switched on, and not handed over to NVIDIADriver objects
  kSandbox,            // sandboxWorkloads.enabled
  kSandboxSwitchedOn,  // both
  kSandboxUnlessDriverCrd,
  kKubevirt,  // both, and sandboxWorkloads.mode is so
  kKata,
};

// Whose image it runs when its section names none.
enum class Runs {
  kNothing,  // it has no pods
  kOurs,     // this release's
  kTheirs,   // none: only NVIDIA's image has it, and the section must name it
  kSpare,    // none, and nothing is missing then: who wants NVIDIA's names it
};

// Which operand, in the order in which they are brought up.
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
};

// What a node's GPUs are for: nvidia.com/gpu.workload.config, and of virtual machines that get GPUs
// as they are, sandboxWorkloads.mode.
enum class Workload { kContainer, kPassthrough, kKata, kVgpu };

// The workloads whose nodes get an operand (contract: gpu-operator's sets of deploy labels).
struct Workloads {
  bool container = false;
  bool passthrough = false;
  bool kata = false;
  bool vgpu = false;
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
    }
    return false;
  }
};

// What OpenShift must allow an operand's pods besides being privileged: SecurityContextConstraints
// of the name of their usual service account.
struct Constraints {
  std::string_view account = {};  // empty: none are needed
  bool host_pid = false;
  bool host_ipc = false;
  bool host_network = false;
  bool host_ports = false;
};

// One step of bringing up a cluster, under NVIDIA's name for it: all that is to be known of it but
// its objects, which operator/desired makes.
struct Operand {
  OperandId id;
  std::string_view state;         // "state-device-plugin": in status and messages
  std::string_view section = {};  // of spec, with its switch; empty: no switch of its own
  // Where its image, arguments and environment are; or nullptr.
  OperandSpec ClusterPolicy::* spec = nullptr;
  bool on = true;  // whether `enabled` defaults to true
  When when;
  std::string_view daemon_set = {};  // empty: none
  std::string_view deploy = {};  // under which ClusterFacts counts its nodes: the label's suffix
  Runs runs;
  Workloads workloads = {};  // whose nodes get that label
  Constraints constraints = {};
};

// All of them, in the order in which they are brought up.
std::span<const Operand> Operands();

// nullptr for a section of spec that is no operand.
const Operand* OperandOfSection(std::string_view section);
const Operand& OperandOf(OperandId id);

// Suffixes of the deploy labels that nodes for this workload get.
std::vector<std::string_view> DeployedFor(Workload workload);

// Whether the policy asks for it: its switch, and the conditions that NVIDIA's operator adds.
bool Wanted(const Operand& operand, const ClusterPolicy& policy);

// Whether there is an image to run it with, or none is needed.
bool HasImage(const Operand& operand, const ClusterPolicy& policy);

// Whether the policy has all that it needs to run: that image, and of the vGPU device manager the
// table of types, which no release brings because it depends on the user's licence.
bool CanRun(const Operand& operand, const ClusterPolicy& policy);
// Whether drivers come in containers: this policy's, or those of NVIDIADriver objects.
bool DriversInContainers(const ClusterPolicy& policy);

}  // namespace gantry::policy
