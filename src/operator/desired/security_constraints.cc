// SPDX-License-Identifier: Apache-2.0

// What may an operand's pods do on OpenShift? One SecurityContextConstraints for each service
// account, of its name: privileged, with the host's files, and of the host's namespaces only what
// its pods use.

#include "operator/desired/security_constraints.h"

#include "base/text.h"
#include "operator/desired/pod.h"
#include "policy/kinds.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
void AddConstraints(Objects& objects, const Context& context, const policy::Constraints& asked,
                    std::string_view account) {
  if (!context.openshift.constraints || asked.account.empty()) {
    return;
  }
  const kube::Kind& kind = policy::kSecurityContextConstraints;
  const std::string_view name = account.empty() ? asked.account : account;
  Json object = OwnedObject(context, kind.ApiVersion(), kind.kind, name, false);
  object.update({{"allowHostDirVolumePlugin", true},
                 {"allowHostIPC", asked.host_ipc},
                 {"allowHostNetwork", asked.host_network},
                 {"allowHostPID", asked.host_pid},
                 {"allowHostPorts", asked.host_ports},
                 {"allowPrivilegeEscalation", true},
                 {"allowPrivilegedContainer", true},
                 {"allowedCapabilities", {"*"}},
                 {"allowedUnsafeSysctls", {"*"}},
                 {"readOnlyRootFilesystem", false},
                 {"seccompProfiles", {"*"}},
                 {"volumes", {"*"}},
                 {"users", {format("system:serviceaccount:{}:{}", context.ns, name)}}});
  for (const char* strategy : {"fsGroup", "runAsUser", "seLinuxContext", "supplementalGroups"}) {
    object[strategy] = {{"type", "RunAsAny"}};
  }
  objects.push_back(std::move(object));
}

}  // namespace gantry::gpu_operator
