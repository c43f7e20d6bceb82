// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace gantry::node_features {

// What the instruction CPUID leaves behind (Intel's manual, volume 2, CPUID).
struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// About sharing caches and memory (Resource Director Technology); zero where there is none.
struct ResourceRegisters {
  CpuidRegisters features = {};       // leaf 7
  CpuidRegisters monitoring = {};     // leaf 0xf
  CpuidRegisters l3_monitoring = {};  // leaf 0xf, sub-leaf 1
  CpuidRegisters allocation = {};     // leaf 0x10
};

// What of it the processor has, under NFD's names: "RDTMON", "RDTL3CA"...
std::set<std::string, std::less<>> ResourceFeatures(const ResourceRegisters& registers);

// Whether sub-leaf 2 or a later one of leaf 0x12 describes a section of the enclave page cache; the
// first that does not is the last one.
bool IsEpcSection(const CpuidRegisters& section);

// Bytes of the enclave page cache (SGX), all of those sections together. 0: the firmware has set
// none aside, so there can be no enclave.
uint64_t EpcBytes(std::span<const CpuidRegisters> sections);

// Whether Speed Select has raised the base frequency of some processors above the nominal one.
// `leaf_16`: CPUID leaf 0x16, all zero where there is none. `base_frequencies`: what
// cpufreq/base_frequency says of each processor, in kHz; others are left out.
bool RaisesBaseFrequency(const CpuidRegisters& leaf_16,
                         const std::set<std::string, std::less<>>& base_frequencies);

}  // namespace gantry::node_features
