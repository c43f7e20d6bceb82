// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace gantry::node_features {

// Where the processor itself can't be asked: its abilities under the names that NFD gives them
// (those of the Go package klauspost/cpuid on x86, the kernel's in capitals on Arm), from the first
// processor of /proc/cpuinfo. Abilities that the kernel has switched off are not among them.
std::set<std::string, std::less<>> CpuFlags(std::string_view cpuinfo);

}  // namespace gantry::node_features
