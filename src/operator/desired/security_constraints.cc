// SPDX-License-Identifier: Apache-2.0

// What may an operand's pods do on OpenShift? One SecurityContextConstraints for each service
// account, of its name: privileged, with the host's files, and of the host's namespaces only what
// its pods use.

#include "operator/desired/security_constraints.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "operator/desired/pod.h"
#include "policy/kinds.h"

namespace gantry::gpu_operator {
namespace {

struct Constraints {
  std::string_view state;
  std::string_view name;  // of the usual service account
  bool host_pid = false;
  bool host_ipc = false;
  bool host_network = false;
  bool host_ports = false;
};

constexpr std::array kConstraints = std::to_array<Constraints>({
    {.state = "state-driver", .name = "nvidia-driver", .host_pid = true},
    {.state = "state-operator-validation", .name = "nvidia-operator-validator", .host_pid = true},
    {.state = "state-dcgm", .name = "nvidia-dcgm", .host_network = true, .host_ports = true},
    {.state = "state-dcgm-exporter", .name = "nvidia-dcgm-exporter", .host_ports = true},
    {.state = "gpu-feature-discovery", .name = "nvidia-gpu-feature-discovery", .host_pid = true},
    {.state = "state-mig-manager",
     .name = "nvidia-mig-manager",
     .host_pid = true,
     .host_ipc = true},
    {.state = "state-node-status-exporter", .name = "nvidia-node-status-exporter"},
    {.state = "state-vgpu-manager", .name = "nvidia-vgpu-manager", .host_pid = true},
    {.state = "state-vgpu-device-manager", .name = "nvidia-vgpu-device-manager"},
    {.state = "state-sandbox-validation", .name = "nvidia-sandbox-validator"},
    {.state = "state-vfio-manager", .name = "nvidia-vfio-manager"},
    {.state = "state-sandbox-device-plugin", .name = "nvidia-sandbox-device-plugin"},
    {.state = "state-kata-device-plugin", .name = "nvidia-kata-sandbox-device-plugin"},
    // NVIDIA's is called nvidia-vfio-manager by mistake, and takes the other one's place.
    {.state = "state-cc-manager", .name = "nvidia-cc-manager"},
    {.state = "state-cuda-toolkit", .name = "nvidia-cuda-toolkit"},
});

}  // namespace

void AddConstraints(Objects& objects, const Context& context, std::string_view state,
                    std::string_view account) {
  const auto* const found = std::ranges::find(kConstraints, state, &Constraints::state);
  if (!context.openshift.constraints || found == kConstraints.end()) {
    return;
  }
  const kube::Kind& kind = policy::kSecurityContextConstraints;
  const std::string_view name = account.empty() ? found->name : account;
  Json object = OwnedObject(context, kind.ApiVersion(), kind.kind, name, false);
  object.update({{"allowHostDirVolumePlugin", true},
                 {"allowHostIPC", found->host_ipc},
                 {"allowHostNetwork", found->host_network},
                 {"allowHostPID", found->host_pid},
                 {"allowHostPorts", found->host_ports},
                 {"allowPrivilegeEscalation", true},
                 {"allowPrivilegedContainer", true},
                 {"allowedCapabilities", {"*"}},
                 {"allowedUnsafeSysctls", {"*"}},
                 {"readOnlyRootFilesystem", false},
                 {"seccompProfiles", {"*"}},
                 {"volumes", {"*"}},
                 {"users", {format("system:serviceaccount:{}:{}", context.space, name)}}});
  for (const char* strategy : {"fsGroup", "runAsUser", "seLinuxContext", "supplementalGroups"}) {
    object[strategy] = {{"type", "RunAsAny"}};
  }
  objects.push_back(std::move(object));
}

}  // namespace gantry::gpu_operator
