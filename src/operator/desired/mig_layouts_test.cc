// SPDX-License-Identifier: Apache-2.0

#include "operator/desired/mig_layouts.h"

#include <gtest/gtest.h>

#include "policy/yaml.h"

namespace gantry::gpu_operator {
namespace {

TEST(MigLayouts, EveryNameStandsOnceWithItsInstances) {
  const auto table = policy::ParseYaml(MigLayouts());
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const Json& layouts = (*table)["mig-configs"];
  EXPECT_EQ((*table)["version"], "v1");
  EXPECT_EQ(layouts.size(), 81U);
  EXPECT_EQ(layouts["all-disabled"][0]["mig-enabled"], false);
  EXPECT_EQ(layouts["all-1g.10gb.me"][0]["mig-devices"], (Json{{"1g.10gb+me", 1}}));
  EXPECT_EQ(layouts["all-balanced"].size(), 12U);
  EXPECT_EQ(layouts["all-1g.10gb"][1]["device-filter"].size(), 4U);
  for (const auto& [name, entries] : layouts.items()) {
    for (const Json& entry : entries) {
      EXPECT_EQ(entry["devices"], "all") << name;
      EXPECT_TRUE(entries.size() == 1 || entry.contains("device-filter")) << name;
    }
  }
}

// H200 NVL is in all-balanced, and its smaller profile matched nothing.
TEST(MigLayouts, AH200NvlHasEachOfItsProfiles) {
  const Json layouts = policy::ParseYaml(MigLayouts()).value()["mig-configs"];
  EXPECT_EQ(layouts["all-1g.35gb"][0]["device-filter"],
            (Json::array({"0x233510DE", "0x233B10DE"})));
}

}  // namespace
}  // namespace gantry::gpu_operator
