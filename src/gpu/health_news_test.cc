// SPDX-License-Identifier: Apache-2.0
#include "gpu/health_news.h"

#include <gmock/gmock.h>

namespace gantry::gpu {
namespace {

using testing::HasSubstr;
using Level = HealthNews::Level;

TEST(HealthNews, AGpuThatFailsAgainIsNoEvent) {
  HealthChange change{
      .uuid = "GPU-a", .from = Health::kHealthy, .to = Health::kUnhealthy, .reason = "XID 79"};
  EXPECT_EQ(NewsOf(change).event, &reasons::kGpuUnhealthy);
  EXPECT_EQ(NewsOf(change).level, Level::kError);
  EXPECT_THAT(NewsOf(change).message, HasSubstr("GPU-a is out of service: XID 79"));
  change.from = Health::kRecovering;
  EXPECT_EQ(NewsOf(change).event, nullptr);
}

TEST(HealthNews, ARecoverySaysWhatWasWrong) {
  const HealthNews news = NewsOf(
      {.uuid = "GPU-a", .from = Health::kRecovering, .to = Health::kHealthy, .reason = "XID 79"});
  EXPECT_EQ(news.event, &reasons::kGpuHealthy);
  EXPECT_EQ(news.level, Level::kInfo);
  EXPECT_THAT(news.message, HasSubstr("after: XID 79"));
  EXPECT_EQ(
      NewsOf({.uuid = "GPU-a", .from = Health::kUnhealthy, .to = Health::kRecovering, .reason = ""})
          .event,
      nullptr);
}

}  // namespace
}  // namespace gantry::gpu
