// SPDX-License-Identifier: Apache-2.0
// The nodes of tests/golden/vm_nodes: what is offered of each, with the PCI database of the image.
#include "operands/sandbox_device_plugin/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/testing/pci_tree.h"
#include "operands/sandbox_device_plugin/gather.h"

namespace gantry::sandbox_device_plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNodes[] = "tests/golden/vm_nodes";

Json ReadJson(const std::string& name, const char* file) {
  auto json = ParseJson(ReadFile(format("{}/{}/{}.json", kNodes, name, file)).value());
  EXPECT_TRUE(json.has_value()) << name;
  return *json;
}

Node Read(const TempFolder& root) {
  const auto node =
      ReadNode({.sys = root / "sys", .host_root = root.path(), .pci_ids = "deploy/image/pci.ids"});
  EXPECT_TRUE(node.has_value());
  return node.value_or(Node());
}

class OfferTest : public testing::TestWithParam<std::string> {};

TEST_P(OfferTest, IsWhatIsBound) {
  const TempFolder root;
  gpu::MakeNode(root, ReadJson(GetParam(), "node"));
  Json offered = Json::object();
  for (const Resource& resource : ResourcesOf(Read(root), {})) {
    for (const Device& device : resource.devices) {
      EXPECT_EQ(device.fault, "");
      offered[resource.name].push_back(device.id);
    }
  }
  EXPECT_EQ(offered, *At(ReadJson(GetParam(), "expected"), "resources"));
}

INSTANTIATE_TEST_SUITE_P(
    Golden, OfferTest,
    testing::ValuesIn(ListDirectory(kNodes).value_or(std::vector<std::string>())),
    [](const auto& test) { return test.param; });

TEST(PciResourceNameTest, IsUpstreams) {
  EXPECT_EQ(PciResourceName("TU102GL [Quadro RTX 6000/8000]"), "TU102GL_QUADRO_RTX_6000_8000");
  EXPECT_EQ(PciResourceName("GB202GL [RTX PRO 6000 Blackwell Max-Q Workstation Edition]"),
            "GB202GL_RTX_PRO_6000_BLACKWELL_MAXQ_WORKSTATION_EDITION");
  EXPECT_EQ(TypeResourceName("NVIDIA A10-4Q\n"), "NVIDIA_A10-4Q");
  EXPECT_EQ(SocketOf({.name = "nvidia.com/GRID_T4-1Q", .mediated = true, .devices = {}}),
            "kubevirt-GRID_T4-1Q.sock");
}

host::PciFunction Gpu(const std::string& address, int device, const std::string& driver) {
  return {.address = address,
          .vendor = host::kNvidiaVendor,
          .device = device,
          .class_code = 0x030200,
          .driver = driver,
          .iommu_group = 57};
}

TEST(ResourcesTest, SeveralIdsOfOneNameAreOneResource) {
  const Node node{.functions = {Gpu("a", 0x20b1, "vfio-pci"), Gpu("b", 0x20f1, "vfio-pci")},
                  .names = {{0x20b1, "GA100 [A100 PCIe 40GB]"}, {0x20f1, "GA100 [A100 PCIe 40GB]"}},
                  .mediated = {},
                  .groups = {"vfio", "57"}};
  const std::vector<Resource> resources = ResourcesOf(node, {});
  ASSERT_EQ(resources.size(), 1U);
  EXPECT_EQ(resources[0].name, "nvidia.com/GA100_A100_PCIE_40GB");
  EXPECT_EQ(resources[0].devices.size(), 2U);
}

TEST(ResourcesTest, AnUnknownIdIsItsOwnName) {
  const Node node{.functions = {Gpu("a", 0xabcd, "vfio-pci")},
                  .names = {},
                  .mediated = {},
                  .groups = {"vfio", "57"}};
  EXPECT_EQ(ResourcesOf(node, {})[0].name, "nvidia.com/abcd");
}

TEST(ResourcesTest, ADeviceThatWasOfferedSaysWhatIsWrongAndComesBack) {
  Node node{.functions = {Gpu("a", 0xabcd, "vfio-pci"), Gpu("b", 0x10f8, "")},
            .names = {},
            .mediated = {},
            .groups = {"vfio", "57"}};
  const std::vector<Resource> good = ResourcesOf(node, {});
  EXPECT_EQ(good[0].devices[0].fault, "");
  node.functions[1].driver = "snd_hda_intel";
  EXPECT_EQ(ResourcesOf(node, good)[0].devices[0].fault,
            "b of its IOMMU group is bound to snd_hda_intel");
  node.functions[1].driver = "";
  node.groups = {"vfio"};
  EXPECT_EQ(ResourcesOf(node, good)[0].devices[0].fault, "/dev/vfio/57 is not there");
  node.functions[0].driver = "nvidia";
  const std::vector<Resource> taken = ResourcesOf(node, good);
  EXPECT_EQ(taken[0].devices[0].fault, "it is bound to nvidia");
  EXPECT_THAT(ResourcesOf(node, {}), IsEmpty());
  node.functions.clear();
  const std::vector<Resource> gone = ResourcesOf(node, taken);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_THAT(gone[0].devices, IsEmpty());
  node.functions = {Gpu("a", 0xabcd, "vfio-pci")};
  node.groups = {"vfio", "57"};
  EXPECT_EQ(ResourcesOf(node, gone), good);
}

TEST(ResourcesTest, MediatedDevicesOfNvidiaAreOffered) {
  const TempFolder root;
  gpu::MakeNode(root, Json::object());
  gpu::AddFunction(
      root,
      {{"address", "0000:41:00.4"}, {"numa_node", "1"}, {"driver", "nvidia"}, {"group", "91"}});
  const std::string parent = "sys/devices/pci0000:00/0000:41:00.4/";
  root.Write(parent + "mdev_supported_types/nvidia-468/name", "NVIDIA A100-4C\n");
  gpu::LinkTo("../mdev_supported_types/nvidia-468", root / (parent + "u-1/mdev_type"));
  gpu::LinkTo("../../../../kernel/iommu_groups/200", root / (parent + "u-1/iommu_group"));
  gpu::LinkTo("../../../devices/pci0000:00/0000:41:00.4/u-1", root / "sys/bus/mdev/devices/u-1");
  root.Write("sys/devices/virtual/mtty/u-2/mdev_type/name", "Dual port serial\n");
  gpu::LinkTo("../../../devices/virtual/mtty/u-2", root / "sys/bus/mdev/devices/u-2");
  root.Write("dev/vfio/200", "");
  const std::vector<Resource> resources = ResourcesOf(Read(root), {});
  ASSERT_EQ(resources.size(), 1U);
  EXPECT_EQ(resources[0].name, "nvidia.com/NVIDIA_A100-4C");
  EXPECT_THAT(resources[0].devices,
              ElementsAre(Device{.id = "u-1", .group = 200, .numa_node = 1, .fault = ""}));
}

}  // namespace
}  // namespace gantry::sandbox_device_plugin
