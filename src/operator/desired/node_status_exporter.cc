// SPDX-License-Identifier: Apache-2.0

// What does the node status exporter run with? It reads the validator's status files and the PCI
// bus, and serves scrapes: no privileges on the host, no API server, and the user `nobody`.

#include "operator/desired/makers.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kStatusExporter = "nvidia-node-status-exporter";
constexpr int kStatusExporterPort = 8000;

Json Service(const Context& context) {
  Json service = OwnedObject(context, "v1", "Service", kStatusExporter, true);
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  service["spec"] = {{"selector", {{"app", kStatusExporter}}},
                     {"ports", Json::array({{{"name", "node-status"},
                                             {"port", kStatusExporterPort},
                                             {"targetPort", kStatusExporterPort},
                                             {"protocol", "TCP"}}})}};
  return service;
}

Json Alerts() {
  constexpr std::string_view kHeld = "30m";
  return Json::array(
      {Alert("GPUOperatorNodeDeploymentFailed",
             "gpu_operator_node_device_plugin_devices_total == 0", kHeld,
             "Node {{ $labels.node }} has offered no GPU for 30 minutes; its condition GPUHealthy "
             "and `gantry doctor` say why."),
       Alert("GPUOperatorNodeDeploymentDriverFailed", "gpu_operator_node_driver_validation == 0",
             kHeld,
             "No working GPU driver has been found on node {{ $labels.node }} for 30 minutes; see "
             "the validator's events and log there."),
       Alert("GPUOperatorNodeDeploymentToolkitFailed",
             "gpu_operator_node_toolkit_ready == 0 and gpu_operator_node_driver_validation == 1",
             kHeld,
             "The driver of node {{ $labels.node }} works, but for 30 minutes its container engine "
             "has not been set up for GPUs; see the container toolkit's log there."),
       Alert("GPUOperatorNodeDeploymentCudaFailed",
             "gpu_operator_node_cuda_ready == 0 and gpu_operator_node_driver_validation == 1",
             kHeld,
             "The driver of node {{ $labels.node }} works, but for 30 minutes CUDA has not started "
             "on it; see the validator's events and log there.")});
}

}  // namespace

void AddNodeStatusMonitoring(Objects& objects, const Context& context) {
  constexpr Scraped kScraped{kStatusExporter, "node-status", "node-status"};
  const policy::MonitorSpec on{.enabled = true};  // the section has no switch for it
  AddServiceMonitor(objects, context, kScraped, on);
  AddPrometheusRule(objects, context,
                    {"nvidia-node-status-exporter-alerts", "Alert on node deployment failure"},
                    kScraped, on, Alerts());
}

Objects NodeStatusExporter(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  DaemonSet set(context, kStatusExporter, kStatusExporter, "nvidia-validator", image,
                policy.node_status_exporter);
  set.SelectDeployed("node-status-exporter");
  set.UseServiceAccount(kStatusExporter, false);
  set.Unprivileged();
  set.Port("node-status", kStatusExporterPort);
  set.Env(names::kVisibleDevices, "void");
  set.Env("COMPONENT", "metrics");
  set.Env("METRICS_PORT", std::to_string(kStatusExporterPort));
  set.EnvFromField("NODE_NAME", "spec.nodeName");
  set.EnvFromField("OPERATOR_NAMESPACE", "metadata.namespace");
  set.Env("HOST_SYS", "/host-sys");
  set.DevicePluginEnabled();
  set.Env(policy.node_status_exporter.env);
  set.ReadsValidations();
  set.HostPath("host-sys", "/sys", "/host-sys", HostDir::kAny, true);
  Objects objects = {ServiceAccount(context, kStatusExporter), Service(context), set.Build()};
  AddHostRole(objects, context, kStatusExporter);
  LabelApp(objects, kStatusExporter);
  AddNodeStatusMonitoring(objects, context);
  return objects;
}

}  // namespace gantry::gpu_operator
