// SPDX-License-Identifier: Apache-2.0

// What does the CC manager (confidential computing) run with? NVIDIA's image: it sets each GPU's
// mode from the node's label nvidia.com/cc.mode, or the policy's default.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> CcManager(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-cc-manager";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(context, kName, {Rule("", "pods", {"get", "list", "watch"})},
                                  {Rule("", "nodes", {"get", "list", "patch", "watch"})});

  NvidiaDaemonSet set(context, kName, kName, image, policy.cc_manager);
  set.SelectPodsBy("name", kName);
  set.SelectDeployed("cc-manager");
  set.UseServiceAccount(kName, true);
  set.PodField("terminationGracePeriodSeconds", 30);
  if (policy.cc_manager.resources.is_null()) {
    set.main().Set("resources", {{"limits", {{"memory", "200Mi"}}},
                                 {"requests", {{"cpu", "100m"}, {"memory", "200Mi"}}}});
  }
  set.main().PrivilegedAtLevel0().BeforeStop(
      {"/bin/rm", "-f", "/run/nvidia/validations/.cc-manager-ctr-ready"});
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env(names::kVisibleDevices, "void");
  if (!policy.cc_default_mode.empty()) {
    set.Env("DEFAULT_CC_MODE", policy.cc_default_mode);
  }
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kDirectory, false);
  set.HostPath("run-nvidia", "/run/nvidia", "/run/nvidia", HostDir::kCreate, false);
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
