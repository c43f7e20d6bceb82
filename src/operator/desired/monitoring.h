// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/desired/context.h"

namespace gantry::gpu_operator {

// A Service of ours that answers scrapes at /metrics.
struct Scraped {
  std::string_view service;  // its name, and its label `app`
  std::string_view port;
  std::string_view job_label;  // ServiceMonitor, spec.jobLabel, as NVIDIA's have it
};

// The ServiceMonitor of a Service: nothing if it is switched off or the cluster lacks the kind.
void AddServiceMonitor(Objects& objects, const Context& context, const Scraped& scraped,
                       const policy::MonitorSpec& spec);

// One rule of a PrometheusRule. `held`: how long the expression must be true ("30m").
Json Alert(std::string_view name, std::string_view expression, std::string_view held,
           std::string_view summary);
Json Recording(std::string_view name, std::string_view expression);

// A PrometheusRule over what the Service measures; as AddServiceMonitor, since rules have nothing
// to look at where nothing is scraped. Its labels are the monitor's.
void AddPrometheusRule(Objects& objects, const Context& context, std::string_view name,
                       const Scraped& scraped, const policy::MonitorSpec& spec, Json rules);

// The ServiceMonitor and the alerts of the node status exporter, ours or NVIDIA's.
void AddNodeStatusMonitoring(Objects& objects, const Context& context);

// Sections of the policy that ask for a ServiceMonitor where the cluster lacks the kind.
std::vector<std::string> MonitorsThatCantBe(const Context& context);

}  // namespace gantry::gpu_operator
