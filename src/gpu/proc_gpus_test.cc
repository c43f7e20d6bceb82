// SPDX-License-Identifier: Apache-2.0
#include "gpu/proc_gpus.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/testing/temp_folder.h"

namespace gantry::gpu {
namespace {

namespace fs = std::filesystem;

constexpr char kInformation[] =
    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 267\nGPU UUID: \t GPU-5f0e\n"
    "Video BIOS: \t 96.00.74.00.01\nBus Type: \t PCIe\nBus Location: \t 0000:1B:00.0\n"
    "Device Minor: \t 3\nGPU Excluded:\t No\n";

TEST(ProcGpus, OneGpu) {
  const auto gpu = ParseGpuInformation(kInformation);
  ASSERT_TRUE(gpu.has_value());
  EXPECT_EQ(gpu->product, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu->gpu.uuid, "GPU-5f0e");
  EXPECT_EQ(gpu->gpu.pci_bus_id, "0000:1b:00.0");
  EXPECT_EQ(gpu->gpu.minor, 3);
  EXPECT_EQ(ParseGpuInformation("GPU UUID: GPU-????????\nDevice Minor: 0\n")->gpu.uuid, "")
      << "no process has the GPU open";
  EXPECT_FALSE(ParseGpuInformation("Device Minor: 0\nGPU Excluded: Yes\n").has_value());
  EXPECT_FALSE(ParseGpuInformation("").has_value());
  EXPECT_FALSE(ParseGpuInformation("Device Minor: x\n").has_value());
}

TEST(ProcGpus, OfAMachine) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  put("/proc/driver/nvidia/gpus/0000:1b:00.0/information", kInformation);
  put("/proc/driver/nvidia/gpus/0000:07:00.0/information", "Device Minor: 5\nGPU UUID: GPU-a\n");
  put("/proc/driver/nvidia/capabilities/gpu3/mig/gi1/access", "");
  put("/proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Tue Mar\nGCC version: 12.2.0\n");
  const std::vector<container::CdiGpu> gpus = GpusFromProc(root);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].uuid, "GPU-a") << "numbered by PCI address";
  EXPECT_EQ(gpus[1].index, 1);
  EXPECT_TRUE(gpus[1].mig_enabled);
  EXPECT_FALSE(gpus[0].mig_enabled);
  EXPECT_EQ(LoadedDriverVersion(root), "535.247.01");
  EXPECT_EQ(LoadedDriverVersion("/nowhere"), "");
}

// The display of a DGX Station is counted by NVML and given to no container.
TEST(ProcGpus, Kdp731_ADisplayIsNoGpuForContainers) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  for (const auto& [address, model] :
       {std::pair{"0000:01:00.0", "NVIDIA DGX Display"}, std::pair{"0000:02:00.0", "A100"}}) {
    const fs::path folder = fs::path(root + "/proc/driver/nvidia/gpus") / address;
    fs::create_directories(folder);
    std::ofstream(folder / "information") << "Model: " << model << "\nDevice Minor: 0\n";
  }
  EXPECT_EQ(GpusFromProc(root).size(), 2U) << "its device node is made all the same";
  const std::vector<container::CdiGpu> gpus = GpusForContainersFromProc(root);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].index, 1);
}

}  // namespace
}  // namespace gantry::gpu
