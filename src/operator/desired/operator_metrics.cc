// SPDX-License-Identifier: Apache-2.0

// How are the operator's own metrics found? A Service of NVIDIA's name and port in front of it, and
// where there is a Prometheus operator, what tells it to scrape that and when to warn.

#include "operator/desired/monitoring.h"
#include "operator/desired/pod.h"

namespace gantry::gpu_operator {
namespace {

Json Alerts() {
  return Json::array(
      {Alert("GPUOperatorReconciliationFailed", "gpu_operator_reconciliation_status != 1", "1h",
             "The GPU operator has not found its ClusterPolicy fulfilled for an hour; the policy's "
             "status names what is not ready and why."),
       Alert("GPUOperatorReconciliationFailedNfdLabelsMissing",
             "gpu_operator_reconciliation_status != 1 and "
             "gpu_operator_reconciliation_has_nfd_labels == 0",
             "30m",
             "No node carries labels of node feature discovery, so no GPU can be found; see its "
             "workers' logs, or switch it on (nfd.enabled).")});
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
  AddPrometheusRule(objects, context, "nvidia-gpu-operator-metrics", kScraped, monitor, Alerts());
  return objects;
}

}  // namespace gantry::gpu_operator
