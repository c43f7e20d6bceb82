// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/journal.h"
#include "operands/container_toolkit/options.h"

namespace gantry::container_toolkit {

// Where the journal of what was done to the host lies, on the host.
inline constexpr char kJournalFolder[] = "/var/lib/nvidia-gpu-operator";

std::string ToolkitDir(const Options& options);

// The management CDI document's path; empty if none is asked for.
std::string ManagementCdiPath(const Options& options);

// What the toolkit wants on the host, but for the runtime's configuration. `program`: the content
// of the static program; `management_cdi`: the document, empty if there is none.
std::vector<host::Change> DesiredFiles(const Options& options, const std::string& program,
                                       const std::string& management_cdi);

// config.toml of the runtime.
std::string RuntimeConfigFile(const Options& options);

}  // namespace gantry::container_toolkit
