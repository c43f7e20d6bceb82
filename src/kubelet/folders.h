// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/paths.h"
#include "policy/names.h"

// Where a kubelet's sockets are, as paths of the host. --root-dir moves pod-resources; Kubernetes
// keeps device-plugins where it is (pkg/kubelet/apis/deviceplugin, DevicePluginPath), whatever the
// root is.
namespace gantry::kubelet {

// The folders in which device plugins may find the kubelet, the likelier one first.
inline std::vector<std::string> DevicePluginFolders(const std::string& root) {
  std::vector<std::string> folders = {names::kDevicePluginDir};
  if (std::string below = JoinPath(root, "device-plugins"); below != folders.front()) {
    folders.push_back(std::move(below));
  }
  return folders;
}

inline std::string PodResourcesSocket(const std::string& root) {
  return JoinPath(root, "pod-resources/kubelet.sock");
}

}  // namespace gantry::kubelet
