// SPDX-License-Identifier: Apache-2.0
#include "policy/device.h"

#include <gmock/gmock.h>

namespace gantry::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DeviceFacts OnTheBus(unsigned index, std::string address) {
  DeviceFacts facts;
  facts.index = index;
  facts.pci_bus_id = std::move(address);
  return facts;
}

DeviceFacts Driven(unsigned index, std::string address) {
  DeviceFacts facts = OnTheBus(index, std::move(address));
  facts.uuid = "GPU-1";
  facts.product = "Tesla-T4";
  facts.memory_mib = 15360;
  facts.driver_version = "535.261.03";
  facts.cuda_version = "12.2";
  facts.compute_capability = "7.5";
  facts.mig_capable = false;
  return facts;
}

Json Object(const DeviceFacts& facts) { return DeviceObject(facts, "gpu-node-1", "uid-1"); }

TEST(DeviceObject, SaysAllOfAGpuWithADriver) {
  const Json object = Object(Driven(0, "0000:3b:00.0"));
  EXPECT_EQ(object["apiVersion"], "gpu.nvidia.com/v1");
  EXPECT_EQ(object["metadata"]["name"], "gpu-0-node-gpu-node-1");
  EXPECT_EQ(object["metadata"]["labels"]["nvidia.com/gpu.product"], "Tesla-T4");
  EXPECT_EQ(object["metadata"]["labels"]["nvidia.com/gpu.uuid"], "GPU-1");
  EXPECT_EQ(
      object["metadata"]["ownerReferences"],
      Json::array(
          {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "gpu-node-1"}, {"uid", "uid-1"}}}));
  EXPECT_EQ(object["spec"], Json({{"node", "gpu-node-1"},
                                  {"index", 0},
                                  {"pciBusID", "0000:3b:00.0"},
                                  {"uuid", "GPU-1"},
                                  {"product", "Tesla-T4"},
                                  {"memory", 15360},
                                  {"driverVersion", "535.261.03"},
                                  {"cudaVersion", "12.2"},
                                  {"computeCapability", "7.5"},
                                  {"migCapable", false}}));
}

TEST(DeviceObject, OfAGpuWithoutADriverSaysItsPlace) {
  EXPECT_EQ(Object(OnTheBus(1, "0000:86:00.0"))["spec"],
            Json({{"node", "gpu-node-1"}, {"index", 1}, {"pciBusID", "0000:86:00.0"}}));
}

DeviceChanges Plan(const std::vector<DeviceFacts>& gpus, const std::vector<Json>& stored) {
  return PlanDevices(gpus, "gpu-node-1", "uid-1", stored);
}

TEST(PlanDevices, MakesWhatIsMissingAndRemovesWhatIsGone) {
  const DeviceFacts first = Driven(0, "0000:3b:00.0");
  const DeviceFacts second = OnTheBus(1, "0000:86:00.0");
  const Json third = Object(OnTheBus(2, "0000:af:00.0"));
  const DeviceChanges changes = Plan({first, second}, {Object(first), third});
  EXPECT_THAT(changes.create, ElementsAre(Object(second)));
  EXPECT_THAT(changes.patch, IsEmpty());
  EXPECT_THAT(changes.remove, ElementsAre("gpu-2-node-gpu-node-1"));
}

TEST(PlanDevices, CompletesAndTakesNothingBack) {
  const DeviceFacts place = OnTheBus(0, "0000:3b:00.0");
  const DeviceFacts whole = Driven(0, "0000:3b:00.0");
  EXPECT_THAT(Plan({whole}, {Object(place)}).patch,
              ElementsAre(testing::Pair("gpu-0-node-gpu-node-1", Object(whole))));
  EXPECT_THAT(Plan({place}, {Object(whole)}).patch, IsEmpty());
  Json labelled = Object(whole);
  labelled["metadata"]["labels"]["team"] = "a";
  EXPECT_THAT(Plan({whole}, {labelled}).patch, IsEmpty());
}

TEST(PlanDevices, WithoutADriverTheStoredIndexStands) {
  const std::vector<Json> stored = {Object(Driven(0, "0000:86:00.0")),
                                    Object(Driven(1, "0000:3b:00.0"))};
  const DeviceChanges changes =
      Plan({OnTheBus(0, "0000:3b:00.0"), OnTheBus(1, "0000:86:00.0")}, stored);
  EXPECT_THAT(changes.create, IsEmpty());
  EXPECT_THAT(changes.patch, IsEmpty());
  EXPECT_THAT(changes.remove, IsEmpty());
}

TEST(PlanDevices, ADriverThatSeesFewerGpusTakesNoOthersObject) {
  const DeviceFacts first = OnTheBus(1, "0000:10:00.0");
  const DeviceFacts second = Driven(0, "0000:20:00.0");
  const std::vector<Json> stored = {Object(OnTheBus(0, "0000:10:00.0")),
                                    Object(Driven(1, "0000:20:00.0"))};
  const DeviceChanges changes = Plan({first, second}, stored);
  EXPECT_THAT(changes.create, IsEmpty());
  EXPECT_THAT(changes.remove, IsEmpty());
  ASSERT_EQ(changes.patch.size(), 2U);
  std::vector<Json> after = stored;
  after[0].merge_patch(changes.patch[0].second);
  after[1].merge_patch(changes.patch[1].second);
  EXPECT_THAT(after, ElementsAre(Object(second), Object(first)));
  EXPECT_THAT(Plan({first, second}, after).patch, IsEmpty());
}

TEST(PlanDevices, AnotherAddressIsAnotherGpu) {
  Json before = Object(Driven(0, "0000:3b:00.0"));
  before["metadata"]["labels"]["team"] = "a";
  const DeviceFacts other = OnTheBus(0, "0000:86:00.0");
  const DeviceChanges changes = Plan({other}, {before});
  ASSERT_EQ(changes.patch.size(), 1U);
  before.merge_patch(changes.patch[0].second);
  Json expected = Object(other);
  expected["metadata"]["labels"]["team"] = "a";
  EXPECT_EQ(before, expected);
}

TEST(PlanDevices, AGpuThatComesTakesAnIndexThatIsFree) {
  const Json there = Object(Driven(1, "0000:10:00.0"));
  const DeviceChanges changes =
      Plan({OnTheBus(0, "0000:10:00.0"), OnTheBus(1, "0000:20:00.0")}, {there});
  EXPECT_THAT(changes.create, ElementsAre(Object(OnTheBus(2, "0000:20:00.0"))));
  EXPECT_THAT(changes.patch, IsEmpty());
  EXPECT_THAT(changes.remove, IsEmpty());
}

}  // namespace
}  // namespace gantry::policy
