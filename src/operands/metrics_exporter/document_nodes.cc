// SPDX-License-Identifier: Apache-2.0
// Which device nodes does a container get that is given all GPUs now? The toolkit's document says
// it, and the host's /dev has their numbers.
#include "operands/metrics_exporter/document_nodes.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "container/capabilities.h"
#include "container/cdi.h"
#include "policy/names.h"

namespace gantry::metrics_exporter {
namespace {

std::optional<dev_t> NumbersOf(const std::string& path) {
  struct stat info{};
  const bool device = stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
  return device ? std::optional(info.st_rdev) : std::nullopt;
}

}  // namespace

std::string ManagementDocument(const std::string& host_root) {
  const std::string path =
      JoinPath(names::kCdiDir, container::CdiFileStem(names::kManagementCdiKind) + ".yaml");
  return ResolveInRoot(host_root, path).value_or(JoinPath(host_root, path));
}

Result<std::vector<NodeSeen>> NodesInDocument(const std::string& document,
                                              const std::string& host_root) {
  TRY_ASSIGN(const std::string text, ReadFile(document));
  auto spec = container::ParseCdi(text);
  if (!spec) {
    return std::unexpected(spec.error().In(document));
  }
  auto all = std::ranges::find(spec->devices, "all", &container::CdiDevice::name);
  if (all == spec->devices.end()) {
    return Fail(ErrorKind::kNotFound, format("read {}: no device all", document));
  }
  // As the container runtime does with NVIDIA_DRIVER_CAPABILITIES=utility.
  container::KeepCapabilities({container::Capabilities::kUtility}, all->edits);
  std::vector<NodeSeen> nodes;
  for (const container::CdiDeviceNode& node : all->edits.device_nodes) {
    const std::string& there = node.host_path.empty() ? node.path : node.host_path;
    nodes.push_back({.path = node.path,
                     .host = NumbersOf(JoinPath(host_root, there)),
                     .own = NumbersOf(node.path)});
  }
  return nodes;
}

}  // namespace gantry::metrics_exporter
