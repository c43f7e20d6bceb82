// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operands/dra_driver/testing/node.h"

namespace gantry::dra_driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesOf(const Devices& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices.devices) {
    names.push_back(device.name);
  }
  return names;
}

TEST(DraDevices, AreInTheOrderOfTheHardware) {
  const Devices devices = DevicesOf(TestSet(), {});
  EXPECT_THAT(NamesOf(devices),
              ElementsAre("gpu-0", "gpu-1", "gpu-2-mig-1g10gb-19-2", "gpu-2-mig-1g10gb-me-20-1"));
  EXPECT_TRUE(devices.left_out.empty());
  EXPECT_EQ(devices.Find("gpu-1")->uuid, "GPU-1");
  EXPECT_EQ(devices.Find("gpu-1")->gpu_at, 0);
  EXPECT_EQ(devices.Find("gpu-2"), nullptr);
}

TEST(DraDevices, AGpuIsPublishedAsNvidiasDriverDoes) {
  const Devices devices = DevicesOf(TestSet(), {{"0000:60:00.0", "pci0000:40"}});
  EXPECT_EQ(devices.Find("gpu-0")->published, *ParseJson(R"({
    "name": "gpu-0",
    "attributes": {
      "type": {"string": "gpu"}, "uuid": {"string": "GPU-0"},
      "productName": {"string": "NVIDIA H100 80GB HBM3"}, "brand": {"string": "Nvidia"},
      "architecture": {"string": "Hopper"}, "cudaComputeCapability": {"version": "9.0.0"},
      "driverVersion": {"version": "550.163.1"}, "cudaDriverVersion": {"version": "12.4.0"},
      "resource.kubernetes.io/pciBusID": {"string": "0000:60:00.0"},
      "resource.kubernetes.io/pcieRoot": {"string": "pci0000:40"},
      "resource.kubernetes.io/numaNode": {"int": 0}},
    "capacity": {"memory": {"value": "81559Mi"}}})"));
}

TEST(DraDevices, AMigDeviceNamesItsParentAndItsSlices) {
  const Devices devices = DevicesOf(TestSet(), {});
  const Json& mig = devices.Find("gpu-2-mig-1g10gb-me-20-1")->published;
  EXPECT_EQ(TextAt(mig, "attributes.type.string"), "mig");
  EXPECT_EQ(TextAt(mig, "attributes.uuid.string"), "MIG-2-9");
  EXPECT_EQ(TextAt(mig, "attributes.parentUUID.string"), "GPU-2");
  EXPECT_EQ(TextAt(mig, "attributes.profile.string"), "1g.10gb+me");
  EXPECT_EQ(mig.at("capacity"), *ParseJson(R"({
    "memory": {"value": "9984Mi"}, "multiprocessors": {"value": "16"},
    "copyEngines": {"value": "1"}, "decoders": {"value": "0"}, "encoders": {"value": "0"},
    "jpegEngines": {"value": "0"}, "ofaEngines": {"value": "0"}, "memorySlice1": {"value": "1"}})"));
}

TEST(DraDevices, WhatTheDriverDoesNotReportIsLeftOut) {
  gpu::GpuSet set = TestSet();
  set.gpus = {TestGpu(0)};
  set.gpus[0].numa_node = -1;
  set.gpus[0].memory_bytes = 0;
  set.gpus[0].addressing_mode = "HMM";
  set.cuda_version = "";
  const Json published = DevicesOf(set, {}).devices.at(0).published;
  EXPECT_FALSE(published.at("attributes").contains("resource.kubernetes.io/numaNode"));
  EXPECT_FALSE(published.at("attributes").contains("resource.kubernetes.io/pcieRoot"));
  EXPECT_FALSE(published.at("attributes").contains("cudaDriverVersion"));
  EXPECT_EQ(TextAt(published, "attributes.addressingMode.string"), "HMM");
  EXPECT_TRUE(published.at("capacity").empty());
}

TEST(DraDevices, WhatCannotBeOfferedIsSaid) {
  gpu::GpuSet set = TestSet();
  gpu::Gpu part = TestGpu(3, true);
  AddMig(part, "1c.3g.40gb", 2, {.profile_id = 9, .start = 0, .size = 4});
  part.mig_devices[0].attributes.gpu_slices = 3;
  AddMig(part, "1g.10gb", 3, {});
  part.mig_devices[1].place.reset();
  gpu::Gpu display = TestGpu(4);
  display.name = "NVIDIA DGX Display";
  set.gpus = {TestGpu(5, true), part, display};
  const Devices devices = DevicesOf(set, {});
  EXPECT_TRUE(devices.devices.empty());
  EXPECT_THAT(devices.left_out,
              ElementsAre(HasSubstr("only a part of its GPU instance"), HasSubstr("needs root"),
                          HasSubstr("for displays"), HasSubstr("has no MIG device")));
}

TEST(DraDevices, AGpuAndItsMigDevicesOverlap) {
  EXPECT_TRUE(Overlap("gpu-1", "gpu-1"));
  EXPECT_TRUE(Overlap("gpu-1", "gpu-1-mig-1g10gb-19-0"));
  EXPECT_TRUE(Overlap("gpu-1-mig-1g10gb-19-0", "gpu-1"));
  EXPECT_FALSE(Overlap("gpu-1", "gpu-10"));
  EXPECT_FALSE(Overlap("gpu-1", "gpu-10-mig-1g10gb-19-0"));
  EXPECT_FALSE(Overlap("gpu-1-mig-1g10gb-19-0", "gpu-1-mig-1g10gb-19-1"));
}

TEST(DraDevices, VersionsAreSemantic) {
  EXPECT_EQ(SemanticVersion("580.95.05"), "580.95.5");
  EXPECT_EQ(SemanticVersion("12.4"), "12.4.0");
  EXPECT_EQ(SemanticVersion("390"), "390.0.0");
  EXPECT_EQ(SemanticVersion(""), "");
  EXPECT_EQ(SemanticVersion("1.x"), "");
}

TEST(DraDevices, QuantitiesAreCanonical) {
  EXPECT_EQ(Quantity(0), "0");
  EXPECT_EQ(Quantity(1000), "1000");
  EXPECT_EQ(Quantity(uint64_t{80} << 30U), "80Gi");
  EXPECT_EQ(Quantity(42505273344), "41509056Ki");
}

}  // namespace
}  // namespace gantry::dra_driver
