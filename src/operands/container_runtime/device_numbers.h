// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/nvidia_cdi.h"

// The numbers of the driver's device nodes, from the kernel's list of drivers.
namespace gantry::container_runtime {

struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;
  bool operator==(const DeviceNumber&) const = default;
};
struct NamedNode {
  std::string path;  // "/dev/nvidiactl"
  DeviceNumber number;
  bool operator==(const NamedNode&) const = default;
};

// nvidiactl, nvidia-modeset, nvidia-uvm and nvidia-uvm-tools, if their drivers are in the text of
// /proc/devices.
std::vector<NamedNode> ControlNodes(std::string_view proc_devices);

// Every node that the driver can have: those, the GPUs, and the capabilities that the text of
// /proc/driver/nvidia-caps/mig-minors lists.
std::vector<NamedNode> PossibleNodes(std::string_view proc_devices, std::string_view mig_minors,
                                     const std::vector<container::CdiGpu>& gpus);

// The target of a link in `folder` to `path`: relative if both are under /dev, so that the tree may
// be mounted elsewhere.
std::string RelativeTarget(std::string_view folder, std::string_view path);

}  // namespace gantry::container_runtime
