// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"
#include "operands/device_plugin/resources.h"
#include "operands/device_plugin/settings.h"

namespace gantry::device_plugin {

// The node's devices that a container gets beside its GPUs.
struct Beside {
  std::set<std::string> control_nodes;  // those of ControlNodes() that exist now
  std::vector<int> imex_channels;       // those of the settings that exist
  std::set<std::string> modes;          // "gds", ...: those of the settings with a CDI document
};

// The response for a container with these devices. kInvalid: an id that the resource does not have,
// or more shares than the configuration allows to one container. kUnavailable: another program has
// its GPU.
Result<kubelet::Allocation> Allocate(const Resource& resource, const Settings& settings,
                                     const Beside& beside, const std::vector<std::string>& ids);

// Device nodes that every GPU container gets.
const std::vector<std::string>& ControlNodes();
// "/dev/nvidia-caps-imex-channels/channel0".
std::string ImexNode(int channel);
// Where clients and the MPS control daemon find the MPS root.
inline constexpr char kMpsRoot[] = "/mps";
// The folders of a resource that MPS shares, below the MPS root: "nvidia.com/gpu/pipe".
std::string MpsPipe(const std::string& resource);
std::string MpsLog(const std::string& resource);
// The clients' /dev/shm, below the MPS root.
inline constexpr char kMpsShm[] = "shm";

}  // namespace gantry::device_plugin
