// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

namespace gantry::node_features {

// The results of the instruction CPUID (Intel's manual, volume 2, CPUID).
struct CpuidRegisters {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

// Control of shared caches and memory (Resource Director Technology); zero if absent.
struct ResourceRegisters {
  CpuidRegisters features = {};       // leaf 7
  CpuidRegisters monitoring = {};     // leaf 0xf
  CpuidRegisters l3_monitoring = {};  // leaf 0xf, sub-leaf 1
  CpuidRegisters allocation = {};     // leaf 0x10
};

// Its features in the processor, under NFD's names: "RDTMON", "RDTL3CA"...
std::set<std::string, std::less<>> ResourceFeatures(const ResourceRegisters& registers);

// Whether sub-leaf 2 or a later one of leaf 0x12 describes a section of the enclave page cache; the
// first that does not is the last one.
bool IsEpcSection(const CpuidRegisters& section);

// Bytes of the enclave page cache (SGX), the sum of those sections. 0: the firmware reserves none,
// so no enclave is possible.
uint64_t EpcBytes(std::span<const CpuidRegisters> sections);

// Whether Speed Select has raised the base frequency of some processors above the nominal one.
// `leaf_16`: CPUID leaf 0x16, all zero if absent. `base_frequencies`: cpufreq/base_frequency of
// each processor that has it, in kHz.
bool RaisesBaseFrequency(const CpuidRegisters& leaf_16,
                         const std::set<std::string, std::less<>>& base_frequencies);

}  // namespace gantry::node_features
