// SPDX-License-Identifier: Apache-2.0
#include "operands/node_features/cpu_leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::node_features {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

constexpr uint32_t Bits(std::initializer_list<unsigned> bits) {
  uint32_t word = 0;
  for (const unsigned bit : bits) {
    word |= 1U << bit;
  }
  return word;
}

constexpr CpuidRegisters kIntel{
    .eax = 0x20, .ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69};
constexpr CpuidRegisters kAmd{.eax = 0x10, .ebx = 0x68747541, .ecx = 0x444d4163, .edx = 0x69746e65};

// A Sapphire Rapids, as far as the levels of the ABI and leaf 7 go.
CpuidLeaves Server() {
  CpuidLeaves leaves;
  leaves.xcr0 = 0xe7;
  leaves.registers[{0, 0}] = kIntel;
  leaves.registers[{1, 0}] = {.eax = 0x806f8,
                              .ebx = 0,
                              .ecx = Bits({0, 9, 12, 13, 19, 20, 22, 23, 26, 27, 28, 29}),
                              .edx = Bits({0, 8, 11, 15, 23, 24, 25, 26, 28})};
  leaves.registers[{7, 0}] = {
      .eax = 2, .ebx = Bits({3, 5, 8, 16, 17, 28, 30, 31}), .ecx = 0, .edx = Bits({4, 24})};
  leaves.registers[{7, 1}] = {.eax = Bits({4, 10, 11, 12}), .ebx = 0, .ecx = 0, .edx = Bits({19})};
  leaves.registers[{7, 2}] = {.eax = 0, .ebx = 0, .ecx = 0, .edx = Bits({0, 4})};
  leaves.registers[{0xb, 0}] = {.eax = 1, .ebx = 2, .ecx = 0x100, .edx = 0};
  leaves.registers[{0x80000001, 0}] = {
      .eax = 0, .ebx = 0, .ecx = Bits({0, 5}), .edx = Bits({11, 20, 27})};
  return leaves;
}

TEST(CpuFlags, OfTheLeavesThatTheKernelDoesNotList) {
  const auto flags = CpuFlags(Server());
  EXPECT_THAT(
      flags, IsSupersetOf({"X86_64_V1", "X86_64_V2", "X86_64_V3", "X86_64_V4", "OSXSAVE", "FXSROPT",
                           "PSFD", "BHI_CTRL", "MOVSB_ZL", "STOSB_SHORT", "CMPSB_SCADBS_SHORT",
                           "HTT", "AVX", "AVXVNNI", "AMXTILE", "FSRM"}));
  EXPECT_THAT(flags, Not(Contains("AVXSLOW")));
}

TEST(CpuFlags, AnAbilityNeedsTheOperatingSystem) {
  CpuidLeaves leaves = Server();
  leaves.xcr0 = 0x07;
  auto flags = CpuFlags(leaves);
  EXPECT_THAT(flags, IsSupersetOf({"AVX2", "X86_64_V3"}));
  EXPECT_THAT(flags, Not(Contains("AVX512F")));
  EXPECT_THAT(flags, Not(Contains("AMXTILE")));
  EXPECT_THAT(flags, Not(Contains("X86_64_V4")));
  leaves.xcr0 = 0;
  flags = CpuFlags(leaves);
  EXPECT_THAT(flags, Not(Contains("AVX")));
  EXPECT_THAT(flags, Not(Contains("AVX2")));
  EXPECT_THAT(flags, Contains("X86_64_V2"));
  EXPECT_THAT(flags, Not(Contains("X86_64_V3")));
}

TEST(CpuFlags, HyperThreadingIsTwoThreadsOfACore) {
  CpuidLeaves leaves = Server();
  leaves.registers[{0xb, 0}].ebx = 1;
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("HTT")));
  leaves.registers[{0, 0}].eax = 5;  // without leaf 0xb: logical processors by cores
  leaves.registers[{1, 0}].ebx = 8U << 16U;
  leaves.registers[{4, 0}].eax = 3U << 26U;
  EXPECT_THAT(CpuFlags(leaves), Contains("HTT"));
  leaves.registers[{4, 0}].eax = 7U << 26U;
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("HTT")));
  // AMD since family 17h says it elsewhere.
  leaves.registers[{0, 0}] = kAmd;
  leaves.registers[{1, 0}].eax = 0x00a20f10;
  leaves.registers[{0xb, 0}].ebx = 0;
  leaves.registers[{0x80000000, 0}].eax = 0x80000021;
  leaves.registers[{0x8000001e, 0}].ebx = 1U << 8U;
  EXPECT_THAT(CpuFlags(leaves), Contains("HTT"));
  leaves.registers[{0x8000001e, 0}].ebx = 0;
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("HTT")));
}

TEST(CpuFlags, OfAmdAlone) {
  CpuidLeaves leaves = Server();
  leaves.registers[{0x8000001f, 0}].eax = Bits({0, 1, 3});
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("SEV")));
  leaves.registers[{0, 0}] = kAmd;
  leaves.registers[{1, 0}].eax = 0x00800f12;  // family 17h, model 1
  const auto flags = CpuFlags(leaves);
  EXPECT_THAT(flags, IsSupersetOf({"SME", "SEV", "SEV_ES", "AVXSLOW", "TSA_L1_NO", "TSA_SQ_NO"}));
}

TEST(CpuFlags, OfGuests) {
  CpuidLeaves leaves = Server();
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("TDX_GUEST")));
  leaves.registers[{0x4000000c, 0}].ebx = 0xbe3;
  EXPECT_THAT(CpuFlags(leaves), Contains("TDX_GUEST"));
  leaves = Server();
  leaves.registers[{0x21, 0}] = {.eax = 0, .ebx = 0x65746e49, .ecx = 0x20202020, .edx = 0x5844546c};
  EXPECT_THAT(CpuFlags(leaves), Contains("TDX_GUEST"));
}

TEST(CpuFlags, PerformanceCountersThatAreThere) {
  const auto counters = [](CpuidRegisters registers) {
    CpuidLeaves leaves;
    leaves.registers[{0, 0}] = kIntel;
    leaves.registers[{0xa, 0}] = registers;
    return CpuFlags(leaves);
  };
  EXPECT_THAT(counters({.eax = 2, .ebx = 0, .ecx = 0, .edx = 3}),
              ElementsAre("PMU_FIXEDCOUNTER_CYCLES", "PMU_FIXEDCOUNTER_INSTRUCTIONS",
                          "PMU_FIXEDCOUNTER_REFCYCLES"));
  EXPECT_THAT(counters({.eax = 2, .ebx = 0b1101, .ecx = 0, .edx = 4}),
              ElementsAre("PMU_FIXEDCOUNTER_CYCLES"));
  EXPECT_THAT(counters({.eax = 2, .ebx = 0, .ecx = 0, .edx = 2}), IsEmpty());
  EXPECT_THAT(counters({}), IsEmpty());
}

TEST(CpuFlags, Avx10HasAVersion) {
  CpuidLeaves leaves = Server();
  leaves.registers[{0x24, 0}].ebx = 2 | Bits({17, 18});
  EXPECT_EQ(Avx10Version(leaves), 2U);
  EXPECT_THAT(CpuFlags(leaves), IsSupersetOf({"AVX10", "AVX10_256", "AVX10_512"}));
  leaves.registers[{7, 1}].edx = 0;
  EXPECT_EQ(Avx10Version(leaves), 0U);
  EXPECT_THAT(CpuFlags(leaves), Not(Contains("AVX10_512")));
}

TEST(CpuFlags, WhereNobodyWasAskedThereAreNone) {
  EXPECT_THAT(CpuFlags(CpuidLeaves()), IsEmpty());
  EXPECT_EQ(Avx10Version({}), 0U);
}

}  // namespace
}  // namespace gantry::node_features
