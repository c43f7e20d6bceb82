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

// What the processor says of itself; empty where it was not asked.
struct CpuidLeaves {
  std::map<CpuidLeaf, CpuidRegisters> registers;  // those leaves that it has
  uint32_t xcr0 = 0;  // which registers the operating system saves; 0: it does not say

  // All zero for a leaf that it does not have.
  [[nodiscard]] CpuidRegisters At(uint32_t leaf, uint32_t sub_leaf = 0) const;
};

// The leaves that CpuFlags looks at.
std::vector<CpuidLeaf> AskedLeaves();

// The processor's abilities under the names that NFD gives them (those of the Go package
// klauspost/cpuid, and X86_64_V1 to V4). Empty if it was not asked.
std::set<std::string, std::less<>> CpuFlags(const CpuidLeaves& leaves);

// The version of AVX10; 0: it has none.
unsigned Avx10Version(const CpuidLeaves& leaves);

}  // namespace gantry::node_features
