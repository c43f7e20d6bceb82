// SPDX-License-Identifier: Apache-2.0

// What do GPUs by resource claims need? The DRA driver on each node, with the kubelet's folders of
// plugins and the driver; classes of devices, which claims name; and a rule of the API server by
// which a node's driver writes only that node's ResourceSlices, since they all share one account.

#include "base/text.h"
#include "operator/desired/makers.h"
#include "operator/desired/pod.h"
#include "policy/dra_gates.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kDraAccount = "nvidia-dra-driver-kubeletplugin";
constexpr std::string_view kSlicePolicy = "resourceslices-policy-nvidia-dra-driver";
constexpr std::string_view kResourceVersion = "resource.k8s.io/v1";
constexpr std::string_view kAdmissionVersion = "admissionregistration.k8s.io/v1";

// Named as its type's class by NVIDIA. `resource`: pods that ask for it get a claim of this class
// if the cluster has the feature gate DRAExtendedResource; otherwise the API server drops it.
Json DeviceClass(const Context& context, std::string_view name, std::string_view type,
                 std::string_view resource) {
  Json object = OwnedObject(context, kResourceVersion, "DeviceClass", name, false);
  object["spec"]["selectors"] = Json::array(
      {{{"cel",
         {{"expression", format("device.driver == '{0}' && device.attributes['{0}'].type == '{1}'",
                                names::kGpuDraDriver, type)}}}}});
  if (!resource.empty()) {
    object["spec"]["extendedResourceName"] = resource;
  }
  return object;
}

// The API server puts the name of the pod's node into the account's token.
void AddSlicePolicy(Objects& objects, const Context& context) {
  Json policy =
      OwnedObject(context, kAdmissionVersion, "ValidatingAdmissionPolicy", kSlicePolicy, false);
  policy["spec"] = {
      {"failurePolicy", "Fail"},
      {"matchConstraints",
       {{"matchPolicy", "Equivalent"},
        {"resourceRules", Json::array({{{"apiGroups", {"resource.k8s.io"}},
                                        {"apiVersions", {"v1"}},
                                        {"operations", {"CREATE", "UPDATE", "DELETE"}},
                                        {"resources", {"resourceslices"}},
                                        {"scope", "*"}}})}}},
      {"matchConditions", Json::array({{{"name", "dra-driver"},
                                        {"expression", format("request.userInfo.username == "
                                                              "'system:serviceaccount:{}:{}'",
                                                              context.ns, kDraAccount)}}})},
      {"variables",
       Json::array({{{"name", "node"},
                     {"expression",
                      "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][?0]"
                      ".orValue('')"}},
                    {{"name", "sliceNode"},
                     {"expression",
                      "(request.operation == 'DELETE' ? oldObject : "
                      "object).spec.?nodeName.orValue('')"}}})},
      {"validations",
       Json::array({{{"expression", "variables.node != ''"},
                     {"message",
                      "the token of the DRA driver names no node: it is not bound to a "
                      "pod"}},
                    {{"expression", "variables.node == variables.sliceNode"},
                     {"messageExpression",
                      "'the DRA driver of node ' + variables.node + ' writes only its own slices, "
                      "not those of node ' + variables.sliceNode"}}})}};
  objects.push_back(std::move(policy));
  Json binding = OwnedObject(context, kAdmissionVersion, "ValidatingAdmissionPolicyBinding",
                             kSlicePolicy, false);
  binding["spec"] = {{"policyName", kSlicePolicy}, {"validationActions", {"Deny"}}};
  objects.push_back(std::move(binding));
}

// "A=true,B=false", without what the driver refuses; the status names that.
std::string FeatureGates(const policy::ClusterPolicy& policy) {
  std::vector<std::string> gates;
  for (const auto& [gate, on] : policy.dra_gates) {
    if (!on || policy::DraGateNamed(gate) != policy::DraGate::kNotServed) {
      gates.push_back(format("{}={}", gate, on));
    }
  }
  return Join(gates, ",");
}

// At the same place in the container as on the host: CDI documents name a program there.
void MountPlugins(const policy::ClusterPolicy& policy, DaemonSet& set) {
  const std::string plugins = policy.kubelet_root + "/plugins";
  const std::string registry = policy.kubelet_root + "/plugins_registry";
  set.Env("KUBELET_REGISTRAR_DIRECTORY_PATH", registry);
  set.Env("KUBELET_PLUGINS_DIRECTORY_PATH", plugins);
  set.HostPath("plugins-registry", registry, registry, HostDir::kCreate, false);
  set.HostPath("plugins", plugins, plugins, HostDir::kCreate, false);
}

}  // namespace

Objects DraDriver(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  const std::string_view name = policy::OperandOf(policy::OperandId::kDraDriver).daemon_set;
  Objects objects = {ServiceAccount(context, kDraAccount)};
  AddHostRole(objects, context, kDraAccount);
  // The Node owns the slices; its capacity shows a device plugin. Claims are listed only to make a
  // damaged checkpoint anew.
  AddClusterRole(
      objects, context, kDraAccount,
      Json::array({Rule("resource.k8s.io", "resourceslices",
                        {"list", "watch", "create", "update", "delete"}),
                   Rule("resource.k8s.io", "resourceclaims", {"get", "list"}),
                   Rule("", "nodes", {"get"}), Rule("", "events", {"create", "patch", "update"})}));
  objects.push_back(DeviceClass(context, "gpu.nvidia.com", "gpu", names::kGpuResource));
  objects.push_back(DeviceClass(context, "mig.nvidia.com", "mig", ""));
  AddSlicePolicy(objects, context);

  DaemonSet set(context, name, "gpus", "gpu-kubelet-plugin", image, policy.dra_driver);
  set.LabelOnly("dra-driver-nvidia-gpu-component", "kubelet-plugin");
  set.SelectDeployed("dra-driver");
  set.UseServiceAccount(kDraAccount, true);
  set.Privileged();
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env("WAIT_FOR_VALIDATIONS", names::kDriverReady);
  set.Env(names::kVisibleDevices, "void");
  set.Env("CDI_ROOT", names::kCdiDir);
  set.Env("HOST_ROOT", "/host");
  if (const std::string gates = FeatureGates(policy); !gates.empty()) {
    set.Env("FEATURE_GATES", gates);
  }
  MountPlugins(policy, set);
  set.Env(policy.dra_driver.env);
  set.HostRoot(true);
  set.ReadsValidations();
  set.DriverRoot();
  set.HostPath("cdi-root", names::kCdiDir, names::kCdiDir, HostDir::kCreate, false);
  set.HostVolume("pod-gpu-resources", policy.kubelet_root + "/pod-resources", HostDir::kDirectory);
  set.main().Mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", kReadOnly);
  // Kubernetes' folder does not depend on the kubelet's root.
  set.HostPath("device-plugin", names::kDevicePluginDir, names::kDevicePluginDir, HostDir::kCreate,
               true);
  objects.push_back(set.Build());
  return objects;
}

Result<Objects> NvidiaDraDriver(const Context& /*context*/, const std::string& image) {
  return Fail(ErrorKind::kInvalid,
              format("spec.draDriver: {} is not deployed; leave image and version out, this "
                     "release has a DRA driver",
                     image));
}

}  // namespace gantry::gpu_operator
