// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/paths.h"
#include "policy/names.h"

// Where a kubelet's sockets are, as paths of the host. --root-dir moves pod-resources;
// device-plugins is fixed (pkg/kubelet/apis/deviceplugin, DevicePluginPath).
namespace gantry::kubelet {

// The folders in which device plugins may find the kubelet, most likely first.
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
