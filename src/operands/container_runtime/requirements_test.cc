// SPDX-License-Identifier: Apache-2.0
// NVIDIA_REQUIRE_*: what an image demands of driver and GPU.
#include "operands/container_runtime/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container_runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const RequirementFacts& Node() {
  static const RequirementFacts facts = {
      {"cuda", "12.2"}, {"driver", "535.247.01"}, {"brand", "tesla"}, {"arch", "8.0"}};
  return facts;
}

bool Met(const std::string& text) {
  return CheckRequirements({{"NVIDIA_REQUIRE_CUDA", text}}, Node()).has_value();
}

TEST(Requirements, Expressions) {
  const std::vector<std::pair<std::string, bool>> table = {
      {"cuda>=12.2", true},
      {"cuda>=12.3", false},
      {"cuda>12.1", true},
      {"cuda<12.2", false},
      {"cuda<=12.2", true},
      {"cuda=12.2", true},
      {"cuda!=12.2", false},
      {"cuda>=9.0", true},  // numbers, not letters
      {"driver>=535", true},
      {"driver<536", true},
      {"driver>=535.247.1", true},  // "01" is 1
      {"brand=tesla", true},
      {"brand=Tesla", true},
      {"brand!=tesla", false},
      {"arch>=7.5", true},
      {"arch<8.0", false},
      {"cuda>=12.3 brand=tesla,driver>=470,driver<536", true},  // or
      {"cuda>=12.3 brand=geforce,driver>=470", false},
      {"cuda>=12.0,driver>=550", false},  // and
      {"", true},
      {"weather=fine", true},  // a property of tomorrow
      {"weather=fine,cuda>=13.0", false},
  };
  for (const auto& [text, met] : table) {
    EXPECT_EQ(Met(text), met) << text;
  }
}

// As NVML's brands are kept, and as NVIDIA's images spell them.
TEST(Requirements, ABrandIsOneWord) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"quadro-rtx", "quadrortx"},   {"nvidia-rtx", "nvidiartx"},
      {"geforce-rtx", "geforcertx"}, {"titan-rtx", "titanrtx"},
      {"nvidia-vws", "NVIDIAvWS"},   {"nvidia-cloud-gaming", "nvidiacloudgaming"},
      {"nvidia-rtx", "nvidia-rtx"},
  };
  for (const auto& [brand, text] : table) {
    const auto met = [&](const std::string& term) {
      return CheckRequirements({{"NVIDIA_REQUIRE_CUDA", term}}, {{"brand", brand}}).has_value();
    };
    EXPECT_TRUE(met("brand=" + text)) << text;
    EXPECT_FALSE(met("brand!=" + text)) << text;
    EXPECT_FALSE(met("brand=nvidia")) << text;
  }
}

TEST(Requirements, TheReasonNamesBothSides) {
  const Status done = CheckRequirements({{"NVIDIA_REQUIRE_CUDA", "cuda>=13.0"}}, Node());
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("NVIDIA_REQUIRE_CUDA=cuda>=13.0"), HasSubstr("cuda 12.2"),
                    HasSubstr("NVIDIA_DISABLE_REQUIRE")));
  EXPECT_EQ(done.error().kind, ErrorKind::kUnsupported);
}

TEST(Requirements, EveryVariableCounts) {
  EXPECT_FALSE(
      CheckRequirements(
          {{"NVIDIA_REQUIRE_CUDA", "cuda>=12.0"}, {"NVIDIA_REQUIRE_ARCH", "arch>=9.0"}}, Node())
          .has_value());
}

TEST(Requirements, WhatIsNotKnownOfANodeIsTakenAsMet) {
  EXPECT_TRUE(
      CheckRequirements({{"NVIDIA_REQUIRE_CUDA", "cuda>=99,brand=quadro"}}, {}).has_value());
}

TEST(Requirements, WhatCannotBeReadIsAnError) {
  for (const char* text : {"cuda", "cuda>=", "brand>tesla", "cuda>=new", "=12"}) {
    const Status done = CheckRequirements({{"NVIDIA_REQUIRE_X", text}}, Node());
    if (std::string(text) == "=12") {
      EXPECT_TRUE(done.has_value()) << "a property without a name is not known";
      continue;
    }
    ASSERT_FALSE(done.has_value()) << text;
    EXPECT_EQ(done.error().kind, ErrorKind::kInvalid) << text;
    EXPECT_THAT(done.error().message, HasSubstr("NVIDIA_REQUIRE_X"));
  }
}

TEST(Requirements, OfAnEnvironment) {
  const auto found = RequirementsOf(
      {"NVIDIA_REQUIRE_CUDA=cuda>=12.0", "NVIDIA_REQUIRE_ARCH=arch>=7.0",
       "NVIDIA_REQUIRE_JETPACK=csv-mounts=all", "CUDA_VERSION=12.4.1", "PATH=/bin", "noequals"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "NVIDIA_REQUIRE_ARCH");
  EXPECT_EQ(found[1].text, "cuda>=12.0");
  EXPECT_THAT(RequirementsOf({"NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_DISABLE_REQUIRE=true"}),
              IsEmpty());
  const auto legacy = RequirementsOf({"CUDA_VERSION=9.2.148"});
  ASSERT_EQ(legacy.size(), 1U);
  EXPECT_EQ(legacy[0].text, "cuda>=9.2") << "an image of the time before the variable";
  EXPECT_THAT(RequirementsOf({"CUDA_VERSION=latest"}), IsEmpty());
}

}  // namespace
}  // namespace gantry::container_runtime
