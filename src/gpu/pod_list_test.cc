// SPDX-License-Identifier: Apache-2.0
#include "gpu/pod_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A field of bytes.
std::string Field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}

TEST(PodList, IsTheKubelets) {
  const std::string devices = Field(1, "nvidia.com/gpu") + Field(2, "GPU-0") + Field(2, "GPU-1");
  const std::string container = Field(1, "main") + Field(2, devices) + Field(3, "cpus");
  const std::string pod = Field(1, "job") + Field(2, "team") + Field(3, container);
  const auto pods = ParsePodList(Field(1, pod) + Field(1, Field(1, "idle")));
  ASSERT_TRUE(pods.has_value()) << pods.error().message;
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ(pods->front().name, "job");
  EXPECT_EQ(pods->front().ns, "team");
  const auto& devices_of = pods->front().containers.at(0).devices.at(0);
  EXPECT_EQ(pods->front().containers.at(0).name, "main");
  EXPECT_EQ(devices_of.resource, "nvidia.com/gpu");
  EXPECT_THAT(devices_of.ids, ElementsAre("GPU-0", "GPU-1"));
  EXPECT_THAT(pods->back().containers, IsEmpty());
  EXPECT_TRUE(ParsePodList("")->empty());
}

TEST(PodList, ClaimsHaveDevices) {
  const auto claimed = [](const std::string& device) {
    return Field(4, Field(2, "gpu.nvidia.com") + Field(3, "n1") + Field(4, device));
  };
  const std::string claim =
      claimed("gpu-0") + Field(2, "two") + Field(3, "team") + claimed("gpu-1");
  const auto pods = ParsePodList(Field(1, Field(3, Field(5, claim))));
  ASSERT_TRUE(pods.has_value());
  const auto& claims = pods->front().containers.front().claims;
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[1].claim, "two");
  EXPECT_EQ(claims[1].ns, "team");
  EXPECT_EQ(claims[1].driver, "gpu.nvidia.com");
  EXPECT_EQ(claims[1].pool, "n1");
  EXPECT_EQ(claims[0].device, "gpu-0");
  EXPECT_EQ(claims[1].device, "gpu-1");
}

TEST(PodList, ABrokenOneIsAnError) {
  const std::string whole = Field(1, Field(3, Field(2, Field(2, "GPU-0"))));
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(ParsePodList(whole.substr(0, size)).has_value()) << size;
  }
  std::string inner = whole;
  inner[7] = 100;  // a device id that is longer than all that follows
  EXPECT_FALSE(ParsePodList(inner).has_value());
}

}  // namespace
}  // namespace gantry::gpu
