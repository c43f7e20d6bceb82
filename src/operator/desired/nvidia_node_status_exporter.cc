// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own node status exporter run with, if the policy names its image? It starts
// the host's nvidia-smi, so it gets the host's root and is privileged.

#include "operator/desired/makers.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {

Result<Objects> NvidiaNodeStatusExporter(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-node-status-exporter";
  constexpr int kPort = 8000;
  const policy::ClusterPolicy& policy = context.policy;
  Objects objects = NvidiaAccount(
      context, kName,
      {Rule("", "pods", {"get", "list"}), Rule("apps", "daemonsets", {"get", "list", "watch"})});
  LabelApp(objects, kName);
  AddClusterRole(objects, context, kName,
                 Json::array({Rule("", "nodes", {"get", "list", "watch"})}));
  NvidiaDaemonSet set(context, kName, kName, image, policy.node_status_exporter);
  set.Annotate("openshift.io/scc", kName);
  set.SelectDeployed("node-status-exporter");
  set.UseServiceAccount(kName, true);
  set.main()
      .Command({"nvidia-validator"})
      .Privileged()
      .AsRoot()
      .Port("node-status", kPort)
      .Env(names::kVisibleDevices, "void")
      .Env("COMPONENT", "metrics")
      .Env("METRICS_PORT", std::to_string(kPort))
      .EnvFromField(names::kNodeName, "spec.nodeName")
      .EnvFromField(names::kOperatorNamespace, "metadata.namespace");
  set.DevicePluginEnabled();
  set.HostVolume("run-nvidia", "/run/nvidia", HostDir::kDirectory);
  set.main().Mount("run-nvidia", "/run/nvidia", kFromHost);
  set.HostRoot(true);
  objects.push_back(set.Finish());
  Json service = NvidiaService(context, kName, "node-status", kPort);
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  objects.push_back(std::move(service));
  AddNodeStatusMonitoring(objects, context);
  return objects;
}

}  // namespace gantry::gpu_operator
