// SPDX-License-Identifier: Apache-2.0
#include "operands/node_features/cpu_registers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gantry::node_features {
namespace {

TEST(CpuRegisters, SectionsOfTheEnclavePageCacheAreSummedUp) {
  struct Case {
    const char* what;
    std::vector<CpuidRegisters> sections;
    uint64_t bytes;
  };
  const Case cases[] = {
      {"no leaf 0x12", {}, 0},
      {"SGX without memory", {{}}, 0},
      // A laptop: base 0x70200000, 93.5 MiB.
      {"one section", {{0x70200001, 0, 0x05d80001, 0}, {}}, 98041856},
      // Two sockets: 63.5 GiB each, above 4 GiB.
      {"two sections",
       {{0x00c00001, 0x10, 0xe0000001, 0xf}, {0x00c00001, 0x20, 0xe0000001, 0xf}, {}},
       136365211648},
      {"what stands behind the end", {{0x1, 0, 0x1001, 0}, {}, {0x1, 0, 0x1001, 0}}, 4096},
      {"bits that mean something else", {{0xfffff001, 0xffffffff, 0x00001fff, 0xfff00000}}, 4096},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(EpcBytes(each.sections), each.bytes) << each.what;
  }
}

TEST(CpuRegisters, WhatCanBeSharedOutIsNamed) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  ResourceRegisters registers;
  EXPECT_THAT(ResourceFeatures(registers), IsEmpty());
  registers.monitoring.edx = 1U << 1U;
  registers.l3_monitoring.edx = 3;
  registers.allocation.ebx = 0xe;
  EXPECT_THAT(ResourceFeatures(registers), IsEmpty()) << "leaf 7 has the say";
  registers.features.ebx = 1U << 12U;
  EXPECT_THAT(ResourceFeatures(registers), ElementsAre("RDTCMT", "RDTMON"));
  registers.l3_monitoring.edx = 7;
  EXPECT_THAT(ResourceFeatures(registers), ElementsAre("RDTCMT", "RDTMBM", "RDTMON"));
  registers.features.ebx = 1U << 15U;
  EXPECT_THAT(ResourceFeatures(registers), ElementsAre("RDTL2CA", "RDTL3CA", "RDTMBA"));
}

TEST(CpuRegisters, ABaseFrequencyAboveTheNominalOneIsSpeedSelects) {
  struct Case {
    const char* what;
    uint32_t eax;
    std::set<std::string, std::less<>> base_frequencies;
    bool raised;
  };
  const Case cases[] = {
      {"every processor at the nominal 2300 MHz", 2300, {"2300000"}, false},
      {"some higher, the others lower", 2300, {"2100000", "2700000"}, true},
      {"less than a megahertz more", 2300, {"2300999"}, false},
      {"a nominal frequency that is not told", 0, {"2700000"}, false},
      {"no base frequencies", 2300, {}, false},
      {"a file without a number", 2300, {"", "fast"}, false},
      {"reserved bits", 0xabcd08fc, {"2301000"}, true},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(RaisesBaseFrequency({.eax = each.eax}, each.base_frequencies), each.raised)
        << each.what;
  }
}

}  // namespace
}  // namespace gantry::node_features
