// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::kube {

// How many requests the API server answered, and how. Thread-safe.
class RequestCounts {
 public:
  // HTTP's `status`; 0: no response. A watch counts when its response begins.
  void Count(std::string_view method, int status);
  // `rest_client_requests_total` as in client-go, in Prometheus' text format 0.0.4. `host` as
  // `name:port`.
  [[nodiscard]] std::string Text(std::string_view host) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, long long> counts_;
};

}  // namespace gantry::kube
