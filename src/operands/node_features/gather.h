// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "operands/node_features/facts.h"
#include "operands/node_features/labels.h"

namespace gantry::node_features {

// The paths of a node's files as seen here.
struct Sources {
  std::string sys;           // "/host-sys"
  std::string os_release;    // "/host-etc/os-release"
  std::string proc;          // "/proc": every container has the host's cpuinfo and kernel release
  std::string features_dir;  // NFD's features.d; may be absent
  std::string swaps = {};    // "/host-proc/swaps"
  std::string boot = {};     // "/host-boot", for the kernel's configuration
  std::string modules = {};  // "/host-lib/modules"
  std::string kernel_config = {};  // a file that has precedence
  std::string node_name = {};
  std::string custom_dir = {};  // NFD's custom.d; may be absent
};

// The worker's paths with a prefix ("/host-": the host's /sys at /host-sys). Without a mounted
// host's /proc it uses the container's: cpuinfo, swaps and the kernel's release are the same in
// every container.
Sources HostSources(const std::string& prefix);

// Reads them. An unreadable PCI bus is an error, because its labels would be missing; an absent
// file is empty. Only the requested part of the kernel's configuration is kept.
Result<Facts> Gather(const Sources& sources, const LabelOptions& options = {});

// The folders whose files are rules: custom.d and those directly below it, hidden ones left out.
std::vector<std::string> CustomFolders(const std::string& custom_dir);

}  // namespace gantry::node_features
