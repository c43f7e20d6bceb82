// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace gantry::node_features {

// If CPUID is not available: the processor's features under NFD's names (those of the Go package
// klauspost/cpuid on x86, the kernel's in upper case on Arm), from the first processor of
// /proc/cpuinfo. Without features that the kernel has disabled.
std::set<std::string, std::less<>> CpuFlags(std::string_view cpuinfo);

}  // namespace gantry::node_features
