// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/plugin_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operands/dra_driver/testing/node.h"

namespace gantry::dra_driver {
namespace {

using testing::ElementsAre;

TEST(DraPluginGpus, WithoutADevicePluginThereAreNone) {
  const PluginGpus gpus = GpusOfPlugins({}, {}, false, TestSet());
  EXPECT_EQ(gpus, PluginGpus());
  EXPECT_FALSE(gpus.Has("GPU-0"));
  // Other vendors' devices are no GPUs of this node.
  EXPECT_EQ(
      GpusOfPlugins({{.resource = "example.com/nic", .ids = {"GPU-0"}}}, {}, false, TestSet()),
      PluginGpus());
}

TEST(DraPluginGpus, WhatThePluginOffersAndWhatPodsHold) {
  const PluginGpus gpus = GpusOfPlugins(
      {{.resource = "nvidia.com/gpu", .ids = {"GPU-1::0", "GPU-1::1"}},
       {.resource = "nvidia.com/mig-1g.10gb", .ids = {"MIG-2-7"}}},
      {{.ns = "ns",
        .name = "pod",
        .containers = {{.name = "c",
                        .devices = {{.resource = "nvidia.com/gpu", .ids = {"GPU-0"}}}}}}},
      true, TestSet());
  EXPECT_FALSE(gpus.all);
  EXPECT_THAT(gpus.uuids, ElementsAre("GPU-0", "GPU-1", "GPU-2"));
  EXPECT_TRUE(gpus.Has("GPU-2"));
}

TEST(DraPluginGpus, WhatCannotBeToldIsAllOfThem) {
  // The plugin has just ended: its GPUs may be in use.
  EXPECT_TRUE(GpusOfPlugins({}, {}, true, TestSet()).Has("GPU-0"));
  EXPECT_TRUE(
      GpusOfPlugins({{.resource = "nvidia.com/gpu", .ids = {"strange"}}}, {}, false, TestSet())
          .all);
}

}  // namespace
}  // namespace gantry::dra_driver
