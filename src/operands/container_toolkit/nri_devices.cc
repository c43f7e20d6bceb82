// SPDX-License-Identifier: Apache-2.0
// Which CDI devices does a container get by its pod's annotations? Every user who may annotate a
// pod may request devices, so devices with every GPU of a node are only for the operator's
// namespace and those that an administrator adds.
#include "operands/container_toolkit/nri_devices.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"
#include "policy/nri_names.h"

namespace gantry::container_toolkit {

NriDecision DevicesOf(const container::NriContainer& container,
                      const std::vector<std::string>& management_namespaces) {
  NriDecision decision;
  for (const std::string& key :
       {names::kNriContainerDevices + container.name, std::string(names::kNriPodDevices),
        std::string(names::kNriDevices)}) {
    const auto found = container.pod_annotations.find(key);
    if (found == container.pod_annotations.end()) {
      continue;
    }
    const bool trusted = std::ranges::find(management_namespaces, container.pod_namespace) !=
                         management_namespaces.end();
    for (const std::string& part : Split(found->second, ',')) {
      const std::string device(Trim(part));
      if (device.empty()) {
        continue;
      }
      const bool management = device.find(names::kManagementCdiKind) != std::string::npos;
      (management && !trusted ? decision.refused : decision.devices).push_back(device);
    }
    break;
  }
  return decision;
}

}  // namespace gantry::container_toolkit
