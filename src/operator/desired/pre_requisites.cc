// SPDX-License-Identifier: Apache-2.0

// Which RuntimeClasses does the operator create? The main one with the policy's name; the two for a
// fixed mode of the runtime only if devices come by CDI.

#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

Objects PreRequisites(const Context& context, const std::string& /*image*/) {
  std::vector<std::string> classes = {context.policy.runtime_class};
  if (context.policy.cdi) {
    classes.insert(classes.end(), {"nvidia-cdi", "nvidia-legacy"});
  }
  Objects objects;
  for (const std::string& name : classes) {
    Json runtime_class = OwnedObject(context, "node.k8s.io/v1", "RuntimeClass", name, false);
    runtime_class["metadata"]["labels"]["app.kubernetes.io/component"] = "gpu-operator";
    runtime_class["handler"] = name;
    objects.push_back(std::move(runtime_class));
  }
  return objects;
}

}  // namespace gantry::gpu_operator
