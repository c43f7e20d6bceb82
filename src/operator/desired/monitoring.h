// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// A Service of Gantry's with metrics at /metrics.
struct Scraped {
  std::string_view service;  // its name, and its label `app`
  std::string_view port;
  std::string_view job_label;  // ServiceMonitor, spec.jobLabel, as in NVIDIA's
};

// The ServiceMonitor of a Service: nothing if it is disabled or the cluster lacks the kind.
void AddServiceMonitor(Objects& objects, const Context& context, const Scraped& scraped,
                       const policy::MonitorSpec& spec);

// One rule of a PrometheusRule. `held`: how long the expression must be true ("30m").
Json Alert(std::string_view name, std::string_view expression, std::string_view held,
           std::string_view summary);
Json Recording(std::string_view name, std::string_view expression);

// The names of a PrometheusRule and of its one group, as in NVIDIA's.
struct RuleNames {
  std::string_view object;
  std::string_view group;
};

// A PrometheusRule on the Service's metrics, with the monitor's labels: nothing if the cluster
// lacks the kind. Also made if the monitor is disabled: the Service may be scraped in another way.
void AddPrometheusRule(Objects& objects, const Context& context, const RuleNames& names,
                       const Scraped& scraped, const policy::MonitorSpec& spec, Json rules);

// The ServiceMonitor and the alerts of the node status exporter, Gantry's or NVIDIA's.
void AddNodeStatusMonitoring(Objects& objects, const Context& context);

// Sections of the policy that enable a ServiceMonitor although the cluster lacks the kind.
std::vector<std::string> MonitorsThatCantBe(const Context& context);

}  // namespace gantry::gpu_operator
