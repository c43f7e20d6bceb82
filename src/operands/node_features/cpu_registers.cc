// SPDX-License-Identifier: Apache-2.0
// Which facts are only in the processor's registers, not in files? CPUID needs no privilege;
// registers that only a privileged program can read (MSRs) are not read, as in NFD.
#include "operands/node_features/cpu_registers.h"

#include <algorithm>

#include "base/text.h"

namespace gantry::node_features {
namespace {

constexpr uint32_t kTypeBits = 0xf;
constexpr uint32_t kEpcSection = 1;
// A size in whole pages: bits 12 to 31 in ECX, 32 to 51 in EDX.
constexpr uint32_t kLowSizeBits = 0xfffff000;
constexpr uint32_t kHighSizeBits = 0x000fffff;
constexpr uint32_t kMegahertzBits = 0xffff;

// Bits of resource monitoring and allocation.
constexpr uint32_t kMonitors = 1U << 12U;   // EBX of leaf 7
constexpr uint32_t kAllocates = 1U << 15U;  // the same
constexpr uint32_t kMonitorsL3 = 1U << 1U;  // EDX of leaf 0xf
constexpr uint32_t kOccupancy = 1U << 0U;   // EDX of its sub-leaf 1
constexpr uint32_t kBandwidths = 3U << 1U;  // the same: total memory, and local memory
constexpr uint32_t kL3Cache = 1U << 1U;     // EBX of leaf 0x10
constexpr uint32_t kL2Cache = 1U << 2U;
constexpr uint32_t kMemoryBandwidth = 1U << 3U;

}  // namespace

std::set<std::string, std::less<>> ResourceFeatures(const ResourceRegisters& registers) {
  const bool monitors =
      (registers.features.ebx & kMonitors) != 0 && (registers.monitoring.edx & kMonitorsL3) != 0;
  const uint32_t monitored = monitors ? registers.l3_monitoring.edx : 0;
  const uint32_t allocated =
      (registers.features.ebx & kAllocates) != 0 ? registers.allocation.ebx : 0;
  const std::pair<const char*, bool> features[] = {
      {"RDTMON", monitors},
      {"RDTCMT", (monitored & kOccupancy) != 0},
      {"RDTMBM", (monitored & kBandwidths) == kBandwidths},
      {"RDTL3CA", (allocated & kL3Cache) != 0},
      {"RDTL2CA", (allocated & kL2Cache) != 0},
      {"RDTMBA", (allocated & kMemoryBandwidth) != 0}};
  std::set<std::string, std::less<>> names;
  for (const auto& [name, has] : features) {
    if (has) {
      names.emplace(name);
    }
  }
  return names;
}

bool IsEpcSection(const CpuidRegisters& section) {
  return (section.eax & kTypeBits) == kEpcSection;
}

uint64_t EpcBytes(std::span<const CpuidRegisters> sections) {
  uint64_t bytes = 0;
  for (const CpuidRegisters& section : sections) {
    if (!IsEpcSection(section)) {
      break;
    }
    bytes += (uint64_t{section.edx & kHighSizeBits} << 32U) | (section.ecx & kLowSizeBits);
  }
  return bytes;
}

bool RaisesBaseFrequency(const CpuidRegisters& leaf_16,
                         const std::set<std::string, std::less<>>& base_frequencies) {
  const long long nominal_mhz = leaf_16.eax & kMegahertzBits;
  return nominal_mhz > 0 && std::ranges::any_of(base_frequencies, [&](const std::string& khz) {
           return ParseInt(khz).value_or(0) / 1000 > nominal_mhz;
         });
}

}  // namespace gantry::node_features
