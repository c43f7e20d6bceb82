// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own GPU feature discovery run with, if the policy names its image? It writes
// its labels to a file that node feature discovery reads, or to a NodeFeature; both are supported.

#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> NvidiaGpuFeatureDiscovery(const Context& context, const std::string& image) {
  constexpr std::string_view kAccount = "nvidia-gpu-feature-discovery";
  constexpr std::string_view kName = "gpu-feature-discovery";
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(
      context, kAccount,
      {Rule(names::kNfdGroup, "nodefeatures", {"get", "list", "watch", "create", "update"}),
       Rule("", "pods", {"get"})},
      {Rule("", "nodes", {"get", "list", "watch"})});

  NvidiaDaemonSet set(context, kName, kName, image, policy.gfd);
  set.Label("app.kubernetes.io/part-of", "nvidia-gpu");
  set.SelectDeployed(kName);
  set.UseServiceAccount(kAccount, true);
  set.UseNvidiaRuntime(kName);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.AwaitToolkit();
  set.main().Command({"gpu-feature-discovery"}).Privileged();
  set.Env("GFD_SLEEP_INTERVAL", "60s");
  set.Env("GFD_FAIL_ON_INIT_ERROR", "true");
  if (context.openshift.present()) {
    set.Env("USE_NODE_FEATURE_API", "false");
  }
  set.EnvFromField("NAMESPACE", "metadata.namespace");
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.EnvFromField("POD_NAME", "metadata.name");
  set.HostPath("output-dir", names::kFeaturesDir, names::kFeaturesDir, HostDir::kAny, false);
  set.HostPath("host-sys", "/sys", "/sys", HostDir::kAny, true);
  set.ManageConfig(kName);
  set.MigStrategy();
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
