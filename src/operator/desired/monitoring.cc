// SPDX-License-Identifier: Apache-2.0

// Which objects configure Prometheus' scrapes and alerts? Those of the Prometheus operator, if the
// cluster has its kinds. NVIDIA makes the rules on OpenShift only; they are valid everywhere.

#include "operator/desired/monitoring.h"

#include "operator/desired/pod.h"
#include "policy/kinds.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

Json MonitoringObject(const Context& context, const kube::Kind& kind, std::string_view name,
                      const Scraped& scraped, const policy::MonitorSpec& spec) {
  Json object = OwnedObject(context, kind.ApiVersion(), kind.kind, name, true);
  Json& labels = object["metadata"]["labels"];
  labels["app"] = scraped.service;
  // The labels by which a Prometheus selects its objects.
  for (const auto& [key, value] : spec.labels) {
    if (key != names::kManagedBy) {
      labels[key] = value;
    }
  }
  NameWrittenKeys(object);
  return object;
}

}  // namespace

void AddServiceMonitor(Objects& objects, const Context& context, const Scraped& scraped,
                       const policy::MonitorSpec& spec) {
  if (!spec.enabled || context.monitoring.service_monitors != Served::kYes) {
    return;
  }
  Json endpoint = {{"port", scraped.port}, {"path", "/metrics"}};
  if (!spec.interval.empty()) {
    endpoint["interval"] = spec.interval;
  }
  if (!spec.scrape_timeout.empty()) {
    endpoint["scrapeTimeout"] = spec.scrape_timeout;
  }
  if (spec.honor_labels) {
    endpoint["honorLabels"] = true;
  }
  if (!spec.relabelings.empty()) {
    endpoint["relabelings"] = spec.relabelings;
  }
  Json monitor = MonitoringObject(context, policy::kServiceMonitor, scraped.service, scraped, spec);
  monitor["spec"] = {{"jobLabel", scraped.job_label},
                     {"selector", {{"matchLabels", {{"app", scraped.service}}}}},
                     {"namespaceSelector", {{"matchNames", Json::array({context.ns})}}},
                     {"endpoints", Json::array({std::move(endpoint)})}};
  objects.push_back(std::move(monitor));
}

Json Alert(std::string_view name, std::string_view expression, std::string_view held,
           std::string_view summary) {
  return {{"alert", name},
          {"expr", expression},
          {"for", held},
          {"labels", {{"severity", "warning"}}},
          {"annotations", {{"summary", summary}}}};
}

Json Recording(std::string_view name, std::string_view expression) {
  return {{"record", name}, {"expr", expression}, {"labels", {{"vendor", "nvidia"}}}};
}

void AddPrometheusRule(Objects& objects, const Context& context, const RuleNames& names,
                       const Scraped& scraped, const policy::MonitorSpec& spec, Json rules) {
  if (context.monitoring.prometheus_rules != Served::kYes) {
    return;
  }
  Json rule = MonitoringObject(context, policy::kPrometheusRule, names.object, scraped, spec);
  rule["spec"]["groups"] = Json::array({{{"name", names.group}, {"rules", std::move(rules)}}});
  objects.push_back(std::move(rule));
}

std::vector<std::string> MonitorsThatCantBe(const Context& context) {
  std::vector<std::string> sections;
  if (context.monitoring.service_monitors != Served::kNo) {
    return sections;
  }
  const policy::ClusterPolicy& policy = context.policy;
  if (policy.operator_monitor.written && policy.operator_monitor.enabled) {
    sections.emplace_back("operator.metrics.serviceMonitor");
  }
  const policy::Operand& exporter = *policy::OperandOfSection("dcgmExporter");
  if (policy.dcgm_exporter_options.monitor.enabled && policy::Wanted(exporter, policy) &&
      policy::HasImage(exporter, policy)) {
    sections.emplace_back("dcgmExporter.serviceMonitor");
  }
  return sections;
}

}  // namespace gantry::gpu_operator
