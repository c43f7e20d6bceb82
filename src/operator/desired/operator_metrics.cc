// SPDX-License-Identifier: Apache-2.0

// Where are the operator's own metrics found? A Service of NVIDIA's name and port in front of it.

#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

Objects OperatorMetrics(const Context& context, const std::string& /*image*/) {
  Json service = OwnedObject(context, "v1", "Service", "gpu-operator", true);
  service["metadata"]["labels"]["app"] = "gpu-operator";
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  service["spec"] = {{"selector", {{"app", "gpu-operator"}}},
                     {"ports", Json::array({{{"name", "gpu-operator-metrics"},
                                             {"port", 8080},
                                             {"targetPort", 8080},
                                             {"protocol", "TCP"}}})}};
  return {std::move(service)};
}

}  // namespace gantry::gpu_operator
