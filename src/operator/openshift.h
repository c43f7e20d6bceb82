// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace gantry::gpu_operator {

// How the cluster's pods reach external hosts: config.openshift.io/v1 Proxy, `cluster`.
struct ClusterProxy {
  std::string http;
  std::string https;
  std::string none_for;     // hosts without proxy, comma-separated
  bool trusted_ca = false;  // whether its own certificates must be trusted
  bool operator==(const ClusterProxy&) const = default;
};

// OpenShift's images with the sources for drivers.
struct DriverToolkit {
  std::map<std::string, std::string> images;  // by RHCOS version
  bool broken = false;                        // some tags have no image
  bool operator==(const DriverToolkit&) const = default;
};

// Facts on an OpenShift cluster.
struct OpenShift {
  std::string version;  // "4.13"; empty: not OpenShift
  ClusterProxy proxy = {};
  std::optional<DriverToolkit> toolkit = {};  // nothing: its ImageStream is missing
  bool constraints = false;                   // whether SecurityContextConstraints can be written
  [[nodiscard]] bool present() const { return !version.empty(); }
  bool operator==(const OpenShift&) const = default;
};

// config.openshift.io/v1 ClusterVersion: the last completely installed version, major and minor.
// Empty if there is none.
std::string VersionOf(const Json& cluster_version);
ClusterProxy ProxyOf(const Json& proxy);
// image.openshift.io/v1 ImageStream driver-toolkit: its tags are RHCOS versions.
DriverToolkit ToolkitOf(const Json& image_stream);

// Metrics of the driver toolkit, as in NVIDIA's operator.
struct ToolkitState {
  int enabled = 0;  // 1 in use, 0 disabled, -1 enabled and impossible
  bool nfd_too_old = false;
  bool image_stream_missing = false;
  bool image_stream_broken = false;
  bool rhcos_tags_missing = false;  // some version has no image
};

}  // namespace gantry::gpu_operator
