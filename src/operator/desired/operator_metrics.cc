// SPDX-License-Identifier: Apache-2.0

// How does Prometheus find the operator's own metrics? By a Service with NVIDIA's name and port,
// and with a Prometheus operator by a ServiceMonitor and alerts.

#include <span>

#include "base/text.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/pod.h"

namespace gantry::gpu_operator {
namespace {

Json OperatorAlerts() {
  return Json::array(
      {Alert("GPUOperatorReconciliationFailed", "gpu_operator_reconciliation_status != 1", "1h",
             "The GPU operator has not found its ClusterPolicy fulfilled for an hour; the policy's "
             "status names what is not ready and why."),
       Alert("GPUOperatorReconciliationFailedNfdLabelsMissing",
             "gpu_operator_reconciliation_status != 1 and "
             "gpu_operator_reconciliation_has_nfd_labels == 0",
             "30m",
             "No node carries labels of node feature discovery, so no GPU can be found; see its "
             "workers' logs, or switch it on (nfd.enabled)."),
       Alert(
           "GPUOperatorDriverAutoUpgradeFailures",
           "gpu_operator_driver_auto_upgrade_enabled == 1 and gpu_operator_nodes_upgrades_failed > "
           "0",
           "30m",
           "The driver of some node could not be upgraded; the ClusterPolicy's status names the "
           "node and why.")});
}

Json ToolkitAlerts() {
  const auto alert = [](std::string_view name, int enabled, std::string_view metric,
                        std::string_view summary) {
    constexpr std::string_view kPrefix = "gpu_operator_openshift_driver_toolkit_";
    return Alert(format("GPUOperatorOpenshiftDriverToolkitEnabled{}", name),
                 format("{0}enabled == {1} and {0}{2} == 1", kPrefix, enabled, metric), "30m",
                 summary);
  };
  return Json::array(
      {alert("NfdTooOld", -1, "nfd_too_old",
             "The driver toolkit can't be used: no GPU node has the label of its RHCOS version."),
       alert("ImageStreamMissing", -1, "imagestream_missing",
             "The driver toolkit can't be used: there is no ImageStream driver-toolkit in "
             "namespace openshift."),
       alert("ImageStreamBroken", 1, "imagestream_broken",
             "Tags of the ImageStream driver-toolkit have no name; its versions can't be told."),
       alert("ImageTagsMissing", 1, "rhcos_tags_missing",
             "The ImageStream driver-toolkit has no image for the RHCOS version of a GPU node.")});
}

// OpenShift's own Prometheus reads only namespaces that allow it.
void LetPrometheusIn(Objects& objects, const Context& context) {
  Json rule = Rule("", "services", {"get", "list", "watch"});
  rule["resources"] = {"services", "endpoints", "pods"};
  const size_t before = objects.size();
  AddRole(objects, context, "prometheus-k8s", Json::array({std::move(rule)}));
  objects.back()["subjects"][0]["namespace"] = "openshift-monitoring";
  LabelApp(std::span(objects).subspan(before), "gpu-operator");
}

}  // namespace

Objects OperatorMetrics(const Context& context, const std::string& /*image*/) {
  constexpr Scraped kScraped{"gpu-operator", "gpu-operator-metrics", "operator"};
  constexpr int kPort = 8080;
  const policy::MonitorSpec& monitor = context.policy.operator_monitor;
  Json service = OwnedObject(context, "v1", "Service", kScraped.service, true);
  service["metadata"]["labels"]["app"] = kScraped.service;
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  service["spec"] = {{"selector", {{"app", kScraped.service}}},
                     {"ports", Json::array({{{"name", kScraped.port},
                                             {"port", kPort},
                                             {"targetPort", kPort},
                                             {"protocol", "TCP"}}})}};
  Objects objects = {std::move(service)};
  AddServiceMonitor(objects, context, kScraped, monitor);
  Json alerts = OperatorAlerts();
  if (context.openshift.present()) {
    for (Json& alert : ToolkitAlerts()) {
      alerts.push_back(std::move(alert));
    }
    LetPrometheusIn(objects, context);
  }
  AddPrometheusRule(
      objects, context,
      {"nvidia-gpu-operator-metrics", "Alert on GPU Operator operator reconciliation failure"},
      kScraped, monitor, std::move(alerts));
  return objects;
}

}  // namespace gantry::gpu_operator
