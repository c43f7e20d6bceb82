// SPDX-License-Identifier: Apache-2.0
// How many requests did the API server answer? Under client-go's name, which alerts about API
// clients use.
#include "kube/request_counts.h"

#include "base/metric_text.h"
#include "base/text.h"

namespace gantry::kube {

void RequestCounts::Count(std::string_view method, int status) {
  const std::scoped_lock lock(mutex_);
  ++counts_[{std::string(method), status}];
}

std::string RequestCounts::Text(std::string_view host) const {
  constexpr std::string_view kName = "rest_client_requests_total";
  std::string text = MetricHeading(kName, "counter", "Requests to the API server, by answer.");
  const std::scoped_lock lock(mutex_);
  for (const auto& [request, count] : counts_) {
    const auto& [method, status] = request;
    text += format("{}{{code=\"{}\",host=\"{}\",method=\"{}\"}} {}\n", kName,
                   status == 0 ? "<error>" : std::to_string(status), host, method, count);
  }
  return text;
}

}  // namespace gantry::kube
