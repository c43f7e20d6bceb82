// SPDX-License-Identifier: Apache-2.0
#include "operands/gpu_features/devices.h"

#include <gmock/gmock.h>

namespace gantry::gpu_features {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

nvml::Device GpuAt(unsigned index, std::string address) {
  nvml::Device gpu;
  gpu.index = index;
  gpu.uuid = "GPU-a";
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.pci_bus_id = std::move(address);
  gpu.memory_bytes = uint64_t{81920} << 20;
  gpu.compute_major = 8;
  gpu.mig = nvml::MigMode::kDisabled;
  return gpu;
}

Facts Bus() {
  Facts facts;
  facts.pci_classes = {{"0000:05:00.0", 0x068000},  // an NVSwitch
                       {"0000:07:00.0", 0x030200},
                       {"0000:07:00.1", 0x040300},  // the sound of a graphics card
                       {"0000:0a:00.0", 0x030000}};
  return facts;
}

TEST(DevicesOf, TheBusAloneTellsWhereTheGpusAre) {
  const auto devices = DevicesOf(Bus());
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].pci_bus_id, "0000:07:00.0");
  EXPECT_EQ(devices[1].index, 1U);
  EXPECT_EQ(devices[1].uuid, "");
  EXPECT_EQ(devices[1].mig_capable, std::nullopt);
  EXPECT_THAT(DevicesOf(Facts{}), IsEmpty());
}

TEST(DevicesOf, TheDriverCompletesThoseThatAnswer) {
  Facts facts = Bus();
  facts.driver_version = "535.261.03";
  facts.cuda_version = 12020;
  facts.gpus = {GpuAt(0, "0000:0a:00.0")};
  const auto devices = DevicesOf(facts);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].product, "");
  EXPECT_EQ(devices[0].index, 1U);
  EXPECT_EQ(devices[1].index, 0U);
  EXPECT_EQ(devices[1].product, "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(devices[1].memory_mib, 81920U);
  EXPECT_EQ(devices[1].cuda_version, "12.2");
  EXPECT_EQ(devices[1].compute_capability, "8.0");
  EXPECT_EQ(devices[1].mig_capable, true);
}

TEST(DevicesOf, GpusOfVirtualMachinesHaveNoDriver) {
  Facts facts = Bus();
  facts.driver_version = "unknown.unknown.unknown";
  facts.gpus = {GpuAt(0, "0000:07:00.0")};
  const auto devices = DevicesOf(facts);
  EXPECT_EQ(devices[0].product, "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(devices[0].driver_version, "");
  EXPECT_EQ(devices[0].mig_capable, std::nullopt);
}

TEST(DevicesOf, WithoutABusTheDriverIsBelieved) {
  Facts facts;
  facts.cuda_version = 12020;
  facts.gpus = {GpuAt(0, "0000:07:00.0")};
  EXPECT_THAT(DevicesOf(facts), SizeIs(1));
}

}  // namespace
}  // namespace gantry::gpu_features
