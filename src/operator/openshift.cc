// SPDX-License-Identifier: Apache-2.0

// Is the cluster an OpenShift, and which of its settings matter? Its own objects have its version,
// its proxy, and the image with the kernel's sources for each of its nodes' systems.

#include "operator/openshift.h"

#include "base/text.h"

namespace gantry::gpu_operator {

std::string VersionOf(const Json& cluster_version) {
  for (const Json& entry : ListAt(cluster_version, "status.history")) {
    if (TextAt(entry, "state") != "Completed") {
      continue;
    }
    const std::vector<std::string> parts = Split(TextAt(entry, "version"), '.');
    return parts.size() < 2 ? "" : format("{}.{}", parts[0], parts[1]);
  }
  return "";
}

ClusterProxy ProxyOf(const Json& proxy) {
  // The status counts: its exceptions include the cluster's own networks.
  const auto text = [&](std::string_view name) {
    const std::string counts = TextAt(proxy, format("status.{}", name));
    return counts.empty() ? TextAt(proxy, format("spec.{}", name)) : counts;
  };
  return {text("httpProxy"), text("httpsProxy"), text("noProxy"),
          !TextAt(proxy, "spec.trustedCA.name").empty()};
}

DriverToolkit ToolkitOf(const Json& image_stream) {
  DriverToolkit toolkit;
  for (const Json& tag : ListAt(image_stream, "spec.tags")) {
    const std::string name = TextAt(tag, "name");
    const std::string image = TextAt(tag, "from.name");
    toolkit.broken |= name.empty();
    if (!name.empty() && name != "latest" && !image.empty()) {
      toolkit.images[name] = image;
    }
  }
  return toolkit;
}

}  // namespace gantry::gpu_operator
