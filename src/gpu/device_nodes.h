// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>

#include "base/error.h"

namespace gantry::gpu {

// The folder that holds the node's /sys, /proc and /run: the mount of the host's root, or this
// container's own root.
std::string HostRoot(const std::string& mounted);

// The folder that holds the host's dev/ as seen here: `dev_root`, or this container's own root if
// it has no dev/.
std::string DevRootHere(const std::string& dev_root);

// Whether a node ("/dev/nvidiactl") exists below a root.
bool HasNode(const std::string& dev_root, const std::string& path);

// Where the nodes of MIG devices are, below a root.
std::string CapabilityNodes(const std::string& dev_root);

// Makes in `to` (this container's /dev) the NVIDIA device nodes of `from` (the host's /dev as
// mounted here) that `to` lacks or has with other numbers, including those of MIG devices and IMEX
// channels. Returns the paths made. kDenied: this container may make no device nodes.
Result<std::set<std::string>> MirrorDeviceNodes(const std::string& from, const std::string& to);

// What tells one device node from another one of the same name.
struct NodeIdentity {
  dev_t numbers;  // major and minor
  ino_t inode;
  bool operator==(const NodeIdentity&) const = default;
};
// The nodes of whole GPUs ("nvidia0") in a /dev. Empty if it can't be read.
std::map<std::string, NodeIdentity> GpuNodes(const std::string& dev);

// Whether `now` has a node that `before` lacks or has otherwise. NVML reads the nodes when its
// session begins: a session from before doesn't have the GPU of such a node.
bool HasNewNode(const std::map<std::string, NodeIdentity>& now,
                const std::map<std::string, NodeIdentity>& before);

}  // namespace gantry::gpu
