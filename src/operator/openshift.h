// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace gantry::gpu_operator {

// How the cluster's pods reach what is outside: config.openshift.io/v1 Proxy, `cluster`.
struct ClusterProxy {
  std::string http;
  std::string https;
  std::string none_for;     // hosts that are reached without it, with commas between
  bool trusted_ca = false;  // whether certificates of its own are to be trusted
  bool operator==(const ClusterProxy&) const = default;
};

// OpenShift's images with what a driver is built from.
struct DriverToolkit {
  std::map<std::string, std::string> images;  // by RHCOS version
  bool broken = false;                        // there are tags that name none
  bool operator==(const DriverToolkit&) const = default;
};

// What is to be known of a cluster that is an OpenShift.
struct OpenShift {
  std::string version;  // "4.13"; empty: it is none
  ClusterProxy proxy = {};
  std::optional<DriverToolkit> toolkit = {};  // nothing: its ImageStream is missing
  bool constraints = false;                   // whether SecurityContextConstraints can be written
  [[nodiscard]] bool present() const { return !version.empty(); }
  bool operator==(const OpenShift&) const = default;
};

// config.openshift.io/v1 ClusterVersion: the last version that was completely installed, major and
// minor. Empty if there is none.
std::string VersionOf(const Json& cluster_version);
ClusterProxy ProxyOf(const Json& proxy);
// image.openshift.io/v1 ImageStream driver-toolkit: its tags are RHCOS versions.
DriverToolkit ToolkitOf(const Json& image_stream);

// What /metrics says of the driver toolkit, as NVIDIA's operator does.
struct ToolkitState {
  int enabled = 0;  // 1 in use, 0 not asked for, -1 asked for and impossible
  bool nfd_too_old = false;
  bool image_stream_missing = false;
  bool image_stream_broken = false;
  bool rhcos_tags_missing = false;  // some version has no image
};

}  // namespace gantry::gpu_operator
