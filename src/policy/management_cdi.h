// SPDX-License-Identifier: Apache-2.0
#pragma once

// Devices of the container toolkit's CDI document for management containers (kind
// names::kManagementCdiKind), beside `all`.
namespace gantry::names {

// The kernel's log, /dev/kmsg, to read.
inline constexpr char kKernelLogDevice[] = "kernel-log";

}  // namespace gantry::names
