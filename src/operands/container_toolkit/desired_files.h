// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "container/cdi.h"
#include "host/journal.h"
#include "operands/container_toolkit/flags.h"

namespace gantry::container_toolkit {

// Where the journal of the changes to the host is, on the host.
inline constexpr char kJournalFolder[] = "/var/lib/nvidia-gpu-operator";

std::string ToolkitDir(const Flags& flags);
std::string RuntimeProgram(const Flags& flags);  // nvidia-container-runtime there

// The management CDI document's path; empty if none is requested.
std::string ManagementCdiPath(const Flags& flags);

// The device of the management document by which a container reads the kernel's log. On a host
// without /dev/kmsg it has no node, so that what requests it starts all the same.
container::CdiDevice KernelLogDevice(bool host_has_it);

// config.toml of the runtime, on the host.
std::string RuntimeConfigPath(const Flags& flags);

// Facts on a host for its files.
struct HostFacts {
  std::string runtime;         // gantry-runtime, a file here
  std::string ctk;             // gantry-ctk, a file here
  std::string management_cdi;  // the document; empty if there is none
  std::string driver_root;     // host path
  // Named in the engine's configuration; runc and crun are added.
  std::vector<std::string> low_level_runtimes;
};

// The toolkit's desired files on the host, without the engine's configuration.
std::vector<host::Change> DesiredFiles(const Flags& flags, const HostFacts& facts);

// The runtimes in a config.toml; empty if it can't be read.
std::vector<std::string> RuntimesInConfigFile(const std::string& text);

// The content of config.toml.
std::string RuntimeConfigFile(const Flags& flags, const HostFacts& facts);

}  // namespace gantry::container_toolkit
