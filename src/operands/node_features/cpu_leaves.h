// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "operands/node_features/cpu_registers.h"

namespace gantry::node_features {

struct CpuidLeaf {
  uint32_t leaf = 0;
  uint32_t sub_leaf = 0;
  auto operator<=>(const CpuidLeaf&) const = default;
};

// The processor's CPUID data; empty if it was not read.
struct CpuidLeaves {
  std::map<CpuidLeaf, CpuidRegisters> registers;  // of the leaves that it has
  uint32_t xcr0 = 0;  // the registers that the operating system saves; 0: unknown

  // All zero for a leaf that it does not have.
  [[nodiscard]] CpuidRegisters At(uint32_t leaf, uint32_t sub_leaf = 0) const;
};

// The leaves that CpuFlags reads.
std::vector<CpuidLeaf> AskedLeaves();

// The processor's features under NFD's names (those of the Go package klauspost/cpuid, and
// X86_64_V1 to V4). Empty if CPUID was not read.
std::set<std::string, std::less<>> CpuFlags(const CpuidLeaves& leaves);

// The version of AVX10; 0: it has none.
unsigned Avx10Version(const CpuidLeaves& leaves);

}  // namespace gantry::node_features
