// SPDX-License-Identifier: Apache-2.0
// How often was the API server asked? Under client-go's name, which alerts about API clients use.
#include "kube/request_counts.h"

#include "base/text.h"

namespace gantry::kube {

void RequestCounts::Count(std::string_view method, int status) {
  const std::scoped_lock lock(mutex_);
  ++counts_[{std::string(method), status}];
}

std::string RequestCounts::Text(std::string_view host) const {
  std::string text =
      "# HELP rest_client_requests_total Requests to the API server, by answer.\n"
      "# TYPE rest_client_requests_total counter\n";
  const std::scoped_lock lock(mutex_);
  for (const auto& [request, count] : counts_) {
    const auto& [method, status] = request;
    text += format("rest_client_requests_total{{code=\"{}\",host=\"{}\",method=\"{}\"}} {}\n",
                   status == 0 ? "<error>" : std::to_string(status), host, method, count);
  }
  return text;
}

}  // namespace gantry::kube
