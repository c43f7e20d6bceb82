// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own validator run with, if the policy names its image? One init container for
// each check, in order; the last two start pods of the same image, which need a GPU each.

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kValidatorName = "nvidia-operator-validator";

Objects Account(const Context& context) {
  Json owners = {{"apiGroups", {names::kNvidiaGroup}},
                 {"resources", {"clusterpolicies/finalizers", "nvidiadrivers/finalizers"}},
                 {"verbs", {"create", "get", "list", "watch", "update", "patch", "delete"}}};
  return NvidiaAccount(
      context, kValidatorName,
      {Rule("", "pods", {"create", "get", "list", "watch", "update", "patch", "delete"}),
       Rule("apps", "daemonsets", {"get", "list", "watch"})},
      {Rule("", "nodes", {"get", "list", "watch"}), std::move(owners)});
}

// The template values of the pods that a check starts.
void DescribePods(const Context& context, Container& check) {
  const policy::ClusterPolicy& policy = context.policy;
  check.EnvFromField(names::kNodeName, "spec.nodeName")
      .EnvFromField(names::kOperatorNamespace, "metadata.namespace")
      .Env("VALIDATOR_IMAGE", check.image())
      .Env("VALIDATOR_IMAGE_PULL_POLICY", check.pull_policy());
  if (!policy.validator.image.pull_secrets.empty()) {
    check.Env("VALIDATOR_IMAGE_PULL_SECRETS", Join(policy.validator.image.pull_secrets, ","));
  }
  if (!policy.nri && (policy.cdi || context.runtime != "crio")) {
    check.Env("VALIDATOR_RUNTIME_CLASS", policy.runtime_class);
  }
}

}  // namespace

Result<Objects> NvidiaOperatorValidator(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = Account(context);
  NvidiaDaemonSet set(context, kValidatorName, kValidatorName, image, policy.validator);
  set.Label("app.kubernetes.io/part-of", "gpu-operator");
  set.SelectDeployed("operator-validator");
  set.UseServiceAccount(kValidatorName, true);
  set.UseNvidiaRuntime("toolkit-validation");
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.HostVolume("driver-install-dir", policy.driver_install_dir);
  set.HostVolume("host-root", policy.host_root, HostDir::kDirectory);
  set.ValidateDriver(image);
  set.Validate("toolkit", image, false)
      .Env(names::kVisibleDevices, "all")
      .Env(policy.validator_toolkit_env);
  Container& cuda = set.Validate("cuda", image, false);
  DescribePods(context, cuda);
  cuda.Env(policy.validator_cuda_env);
  if (policy.device_plugin.enabled) {
    Container& plugin = set.Validate("plugin", image, false).Env("WITH_WORKLOAD", "false");
    DescribePods(context, plugin);
    plugin.Env("MIG_STRATEGY", policy.mig_strategy).Env(policy.validator_plugin_env);
  }
  set.StayValidated("/run/nvidia/validations/*-ready");
  objects.push_back(set.Finish());
  return objects;
}

}  // namespace gantry::gpu_operator
