// SPDX-License-Identifier: Apache-2.0
// What is worth a request. What is stored then is tested beside an API server (test_features.py).
#include "operands/node_features/publisher.h"

#include <gtest/gtest.h>

namespace gantry::node_features {
namespace {

TEST(IsNews, APodsNetworkDeviceAloneIsNone) {
  const Described before{.labels = {{"a", "1"}},
                         .features = {.flags = {{"kernel.loadedmodule", {"ext4"}}},
                                      .attributes = {{"memory.swap", {{"enabled", "false"}}}},
                                      .instances = {{"network.virtual", {{{"name", "lo"}}}},
                                                    {"network.device", {{{"name", "eth0"}}}}}}};
  EXPECT_FALSE(IsNews(before, before));
  Described now = before;
  now.features.instances["network.virtual"].push_back({{"name", "veth7"}});
  EXPECT_FALSE(IsNews(before, now));
  now.features.instances.erase("network.virtual");
  EXPECT_FALSE(IsNews(before, now));
  now.labels["a"] = "2";
  EXPECT_TRUE(IsNews(before, now));
  now = before;
  now.features.attributes["memory.swap"]["enabled"] = "true";
  EXPECT_TRUE(IsNews(before, now));
  now = before;
  now.features.flags["kernel.loadedmodule"].insert("nvidia");
  EXPECT_TRUE(IsNews(before, now));
  now = before;
  now.features.instances["network.device"].clear();
  EXPECT_TRUE(IsNews(before, now));
}

}  // namespace
}  // namespace gantry::node_features
