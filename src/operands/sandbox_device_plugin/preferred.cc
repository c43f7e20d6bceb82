// SPDX-License-Identifier: Apache-2.0
// Which of the available devices should a virtual machine get? Those of one NUMA node.
#include "operands/sandbox_device_plugin/preferred.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace gantry::sandbox_device_plugin {

Result<std::vector<std::string>> Prefer(const Resource& resource,
                                        const kubelet::PreferredRequest& request) {
  const auto size = static_cast<size_t>(std::max(request.size, 0));
  std::vector<std::string> chosen = request.required;
  if (chosen.size() > size) {
    return Fail(ErrorKind::kInvalid,
                format("prefer: {} devices are required and {} asked for", chosen.size(), size));
  }
  std::vector<std::string> rest;
  std::map<int, std::vector<std::string>> by_node;
  for (const std::string& id : request.available) {
    if (std::ranges::find(chosen, id) != chosen.end()) {
      continue;
    }
    rest.push_back(id);
    const auto device = std::ranges::find(resource.devices, id, &Device::id);
    by_node[device == resource.devices.end() ? -1 : device->numa_node].push_back(id);
  }
  const size_t missing = size - chosen.size();
  const auto has_enough = [&](const auto& node) { return node.second.size() >= missing; };
  auto enough = std::ranges::find_if(by_node, has_enough);
  if (!chosen.empty()) {
    const auto required = std::ranges::find(resource.devices, chosen.front(), &Device::id);
    const auto same =
        required == resource.devices.end() ? by_node.end() : by_node.find(required->numa_node);
    enough = same != by_node.end() && has_enough(*same) ? same : enough;
  }
  const std::vector<std::string>& from = enough == by_node.end() ? rest : enough->second;
  chosen.insert(chosen.end(), from.begin(),
                from.begin() + static_cast<std::ptrdiff_t>(std::min(missing, from.size())));
  return chosen;
}

}  // namespace gantry::sandbox_device_plugin
