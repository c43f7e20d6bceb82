// SPDX-License-Identifier: Apache-2.0
// What the toolkit writes for the runtime is what the runtime reads; and what procfs says of GPUs.
#include "container/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "container/cdi.h"
#include "container/proc_gpus.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;

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
  input.hook_path = "/h";
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

constexpr char kInformation[] =
    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 267\nGPU UUID: \t GPU-5f0e\n"
    "Video BIOS: \t 96.00.74.00.01\nBus Type: \t PCIe\nBus Location: \t 0000:1B:00.0\n"
    "Device Minor: \t 3\nGPU Excluded:\t No\n";

TEST(ProcGpus, OneGpu) {
  const auto gpu = ParseGpuInformation(kInformation);
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->uuid, "GPU-5f0e");
  EXPECT_EQ(gpu->pci_bus_id, "0000:1b:00.0");
  EXPECT_EQ(gpu->minor, 3);
  EXPECT_EQ(ParseGpuInformation("GPU UUID: GPU-????????\nDevice Minor: 0\n")->uuid, "")
      << "nobody has the GPU open";
  EXPECT_FALSE(ParseGpuInformation("Device Minor: 0\nGPU Excluded: Yes\n").has_value());
  EXPECT_FALSE(ParseGpuInformation("").has_value());
  EXPECT_FALSE(ParseGpuInformation("Device Minor: x\n").has_value());
}

TEST(ProcGpus, OfAMachine) {
  std::string pattern = testing::TempDir() + "/proc.XXXXXX";
  const std::string root = ::mkdtemp(pattern.data());
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  put("/proc/driver/nvidia/gpus/0000:1b:00.0/information", kInformation);
  put("/proc/driver/nvidia/gpus/0000:07:00.0/information", "Device Minor: 5\nGPU UUID: GPU-a\n");
  put("/proc/driver/nvidia/capabilities/gpu3/mig/gi1/access", "");
  put("/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Tue Mar\nGCC version: 12.2.0\n");
  const std::vector<CdiGpu> gpus = GpusFromProc(root);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].uuid, "GPU-a") << "numbered by PCI address";
  EXPECT_EQ(gpus[1].index, 1);
  EXPECT_TRUE(gpus[1].mig_enabled);
  EXPECT_FALSE(gpus[0].mig_enabled);
  EXPECT_EQ(LoadedDriverVersion(root), "535.247.01");
  EXPECT_EQ(LoadedDriverVersion("/nowhere"), "");
  fs::remove_all(root);
}

}  // namespace
}  // namespace gantry::container
