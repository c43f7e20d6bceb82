// SPDX-License-Identifier: Apache-2.0
// What do the processor's registers say that no file does? Everybody may execute CPUID; registers
// that only a privileged program reads (MSRs) are not looked at, as NFD does not.
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

}  // namespace

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
