// SPDX-License-Identifier: Apache-2.0
// What the toolkit writes for the runtime is what the runtime reads.
#include "container/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/cdi.h"

namespace gantry::container {
namespace {

NodeInventory Sample() {
  NodeInventory inventory;
  inventory.driver.host_root = "/run/nvidia/driver";
  inventory.driver.host_dev_root = "/dev-root";
  inventory.driver.cuda_version = "12.2";
  inventory.driver.version = "535.1";
  inventory.files.version = "535.1";
  inventory.files.libraries = {
      {"/lib/libcuda.so.535.1", "/lib/x/libcuda.so.535.1", "libcuda.so.1"}};
  inventory.files.graphics_libraries = {{"/lib/g.so.1.1", "/lib/g.so.1.1", ""}};
  inventory.files.programs = {{"/usr/bin/nvidia-smi", "/opt/nvidia-smi"}};
  inventory.files.configs = {{"/etc/OpenCL/vendors/nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd"}};
  inventory.files.firmware = {{"/lib/firmware/gsp.bin", "/lib/firmware/gsp.bin"}};
  inventory.files.sockets = {
      {"/run/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket"}};
  inventory.files.links = {{"/lib/libcuda.so", "libcuda.so.1"}};
  inventory.files.control_nodes = {"/dev/nvidiactl"};
  inventory.files.all_nodes = {"/dev/nvidia0", "/dev/nvidiactl"};
  inventory.files.node_groups = {{"/dev/nvidia0", 44}};
  CdiGpu gpu{"GPU-1", 0, 0, "0000:01:00.0", {}};
  gpu.mig_enabled = true;
  gpu.mig = {{"MIG-1", 0, {"/dev/nvidia-caps/nvidia-cap3"}, true}};
  gpu.drm_nodes = {"/dev/dri/card1"};
  gpu.coherent = true;
  inventory.gpus = {gpu};
  inventory.kinds = {{"tesla", "8.0"}};
  return inventory;
}

TEST(Inventory, WrittenAndReadItIsTheSame) {
  const NodeInventory before = Sample();
  const auto after = ParseInventory(InventoryText(before));
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(InventoryText(*after), InventoryText(before));
  EXPECT_EQ(after->kinds, before.kinds);
  CdiInput input;
  input.kind = "a.com/gpu";
  input.hook = {"/h", true};
  input.driver = before.driver;
  input.gpus = before.gpus;
  CdiInput read = input;
  read.driver = after->driver;
  read.gpus = after->gpus;
  EXPECT_EQ(CdiText(NvidiaCdiFrom(read, after->files)), CdiText(NvidiaCdiFrom(input, before.files)))
      << "every part that a document is made of comes through";
}

TEST(Inventory, WhatIsNotOursIsRefused) {
  for (const char* text : {"", "{}", "[]", R"({"inventory": 2})", R"({"inventory": "1"})"}) {
    EXPECT_FALSE(ParseInventory(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace gantry::container
