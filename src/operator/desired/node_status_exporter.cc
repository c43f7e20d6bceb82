// SPDX-License-Identifier: Apache-2.0

// What does the node status exporter run with? It reads the status files of the validator and the
// PCI bus, and answers scrapes: no right on the host, no API server, no user but nobody.

#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr int kPort = 8000;

Json Service(const Context& context, std::string_view name) {
  Json service = OwnedObject(context, "v1", "Service", name, true);
  service["metadata"]["labels"]["app"] = name;
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  service["spec"] = {{"selector", {{"app", name}}},
                     {"ports", Json::array({{{"name", "node-status"},
                                             {"port", kPort},
                                             {"targetPort", kPort},
                                             {"protocol", "TCP"}}})}};
  return service;
}

}  // namespace

Objects NodeStatusExporter(const Context& context, const std::string& image) {
  constexpr std::string_view kName = "nvidia-node-status-exporter";
  const policy::ClusterPolicy& policy = context.policy;
  DaemonSet set(context, kName, kName, "nvidia-validator", image, policy.node_status_exporter);
  set.SelectDeployed("node-status-exporter");
  set.UseServiceAccount(kName, false);
  set.Unprivileged();
  set.Port("node-status", kPort);
  set.Env(names::kVisibleDevices, "void");
  set.Env("COMPONENT", "metrics");
  set.Env("METRICS_PORT", std::to_string(kPort));
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("OPERATOR_NAMESPACE", "metadata.namespace");
  set.Env("HOST_SYS", "/host-sys");
  set.Env(policy.node_status_exporter.env);
  set.ReadsValidations();
  set.HostPath("host-sys", "/sys", "/host-sys", HostDir::kAny, true);
  return {ServiceAccount(context, kName), Service(context, kName), set.Build()};
}

}  // namespace gantry::gpu_operator
