// SPDX-License-Identifier: Apache-2.0
// What NVML says of a machine, as the runtime will read it.
#include "operands/container_toolkit/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container_toolkit {
namespace {

using testing::ElementsAre;

TEST(Inventory, OfAMachineWithAGpuAndADividedOne) {
  nvml::Device whole;
  whole.uuid = "GPU-1";
  whole.brand = "tesla";
  whole.compute_major = 9;
  whole.coherent = true;
  nvml::Device divided;
  divided.index = 1;
  divided.minor = 1;
  divided.uuid = "GPU-2";
  divided.brand = "unknown";
  divided.mig = nvml::MigMode::kEnabled;
  nvml::MigDevice mig;
  mig.uuid = "MIG-1";
  mig.profile = "1g.12gb+gfx";
  mig.gpu_instance = 7;
  divided.mig_devices = {mig};
  container::DriverInventory files;
  files.version = "535.1";
  const container::NodeInventory inventory =
      InventoryFrom({}, files, 12020, {{whole, divided}, {}}, "/nowhere");
  EXPECT_EQ(inventory.driver.cuda_version, "12.2");
  EXPECT_EQ(inventory.kinds, (std::vector<container::GpuKind>{{"tesla", "9.0"}, {"", ""}}));
  ASSERT_EQ(inventory.gpus.size(), 2U);
  EXPECT_FALSE(inventory.gpus[0].mig_enabled);
  EXPECT_EQ(inventory.gpus[0].coherent, true);
  EXPECT_EQ(inventory.gpus[1].coherent, std::nullopt);
  EXPECT_TRUE(inventory.gpus[1].mig_enabled);
  ASSERT_EQ(inventory.gpus[1].mig.size(), 1U);
  EXPECT_TRUE(inventory.gpus[1].mig[0].graphics);
  EXPECT_THAT(inventory.gpus[1].mig[0].nodes,
              ElementsAre("/dev/nvidia-caps/nvidia-cap201", "/dev/nvidia-caps/nvidia-cap202"));
  EXPECT_EQ(InventoryFrom({}, files, 0, {}, "/").driver.cuda_version, "");
}

// The document's device `all` and NVIDIA_VISIBLE_DEVICES=all are of what stands here.
TEST(Inventory, Kdp731_ADisplayIsNoGpuForContainers) {
  nvml::Device display;
  display.name = "DGX Display";
  nvml::Device gpu;
  gpu.index = 1;
  gpu.name = "NVIDIA A100-SXM4-80GB";
  const auto inventory = InventoryFrom({}, {}, 12020, {{display, gpu}, {}}, "/nowhere");
  ASSERT_EQ(inventory.gpus.size(), 1U);
  EXPECT_EQ(inventory.gpus[0].index, 1) << "as NVML counts";
  EXPECT_EQ(inventory.kinds.size(), 1U);
}

}  // namespace
}  // namespace gantry::container_toolkit
