// SPDX-License-Identifier: Apache-2.0
// What does src/nvml say of the test bed's GPUs? $NVML_ROOT is a driver root made from a profile;
// the device nodes below it take the place of this process's /dev. GPUs are made ill by the shell
// commands in $NVML_LOSE, $NVML_FAIL, $NVML_RECOVER and $NVML_XID; $NVML_MIG is the beginning of
// one that changes the MIG devices of GPU 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "nvml/dev_root.h"
#include "nvml/mig_control.h"
#include "nvml/nvml.h"

namespace gantry::nvml {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::filesystem::path Root() { return std::getenv("NVML_ROOT"); }

void Shell(const char* variable) { ASSERT_EQ(std::system(std::getenv(variable)), 0) << variable; }

std::unique_ptr<Library> Opened() {
  static const bool entered = (EnterDevRoot(Root().string()), true);
  EXPECT_TRUE(entered);
  auto library = Library::Open({.library = FindLibrary(Root()).value(), .sys = Root() / "sys"});
  EXPECT_TRUE(library.has_value()) << library.error().message;
  return library.has_value() ? *std::move(library) : nullptr;
}

TEST(TwoT4, IsWhatTheProfileSays) {
  const auto library = Opened();
  EXPECT_EQ(library->DriverVersion(), "535.261.03");
  EXPECT_EQ(library->CudaVersion(), 12020);
  EXPECT_EQ(library->DeviceCount(), 2U);
  const Devices devices = library->Enumerate().value();
  EXPECT_THAT(devices.failed, IsEmpty());
  EXPECT_THAT(
      devices.found,
      AllOf(
          SizeIs(2),
          Each(AllOf(Field(&Device::name, "Tesla T4"), Field(&Device::compute_major, 7),
                     Field(&Device::compute_minor, 5), Field(&Device::memory_bytes, 15360ULL << 20),
                     Field(&Device::mig, MigMode::kUnsupported),
                     Field(&Device::fabric, std::nullopt), Field(&Device::numa_node, 0)))));
  EXPECT_EQ(devices.found[1].minor, 1U);
  EXPECT_THAT(devices.found[1].uuid, testing::StartsWith("GPU-"));
  EXPECT_THAT(devices.found[1].pci_bus_id,
              testing::MatchesRegex("0000:[0-9a-f]{2}:[0-9a-f]{2}\\.0"));
}

TEST(TwoT4, NoNvlink) {
  const auto library = Opened();
  const Topology topology = library->Distances(library->Enumerate()->found);
  ASSERT_THAT(topology.pairs, SizeIs(2));
  EXPECT_EQ(topology.pairs[0][1].nvlinks, 0U);
  EXPECT_EQ(topology.pairs[0][1].switch_links, 0U);
  EXPECT_NE(topology.pairs[0][1].ancestor, Ancestor::kUnknown);
}

TEST(TwoT4, ALostGpuIsNamedAndDoesNotHideTheOther) {
  const auto library = Opened();
  const Devices before = library->Enumerate().value();
  const std::string& lost = before.found[1].uuid;
  EXPECT_TRUE(library->Alive(lost).has_value());
  Shell("NVML_LOSE");
  const Status alive = library->Alive(lost);
  const Devices after = library->Enumerate().value();
  const Status other = library->Alive(before.found[0].uuid);
  Shell("NVML_RECOVER");
  ASSERT_FALSE(alive.has_value());
  EXPECT_EQ(alive.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(alive.error().message, AllOf(HasSubstr(lost), HasSubstr("GPU_IS_LOST")));
  EXPECT_TRUE(other.has_value());
  ASSERT_THAT(after.found, SizeIs(1));
  EXPECT_EQ(after.found[0].uuid, before.found[0].uuid);
  ASSERT_THAT(after.failed, SizeIs(1));
  EXPECT_EQ(after.failed[0].index, 1U);
  EXPECT_TRUE(library->Alive(lost).has_value());
  EXPECT_EQ(library->Enumerate()->found, before.found);
}

TEST(TwoT4, AFailingGpuIsUnavailable) {
  const auto library = Opened();
  const std::string uuid = library->Enumerate()->found[1].uuid;
  Shell("NVML_FAIL");
  const Status alive = library->Alive(uuid);
  Shell("NVML_RECOVER");
  ASSERT_FALSE(alive.has_value());
  EXPECT_EQ(alive.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(alive.error().message, HasSubstr("UNKNOWN"));
}

TEST(TwoT4, AnUnknownUuidIsNotFound) {
  const Status alive = Opened()->Alive("GPU-00000000-0000-0000-0000-000000000000");
  ASSERT_FALSE(alive.has_value());
  EXPECT_EQ(alive.error().kind, ErrorKind::kNotFound);
}

TEST(TwoT4, XidsNameTheirGpu) {
  const auto library = Opened();
  const Devices devices = library->Enumerate().value();
  const auto events = library->NewEventSet().value();
  for (const Device& device : devices.found) {
    EXPECT_TRUE(events->Register(device.uuid).has_value());
  }
  const auto nothing = events->Wait(std::chrono::milliseconds(50));
  ASSERT_TRUE(nothing.has_value()) << nothing.error().message;
  EXPECT_FALSE(nothing->has_value());
  std::jthread raiser([] { Shell("NVML_XID"); });
  const auto event = events->Wait(std::chrono::seconds(20));
  ASSERT_TRUE(event.has_value()) << event.error().message;
  EXPECT_EQ(*event, (EventSet::Event{.uuid = devices.found[1].uuid,
                                     .xid = 48,
                                     .gpu_instance = std::nullopt,
                                     .compute_instance = std::nullopt}));
}

TEST(EightA100, MeetInSwitches) {
  const auto library = Opened();
  const std::vector<Device> devices = library->Enumerate()->found;
  ASSERT_THAT(devices, SizeIs(8));
  EXPECT_THAT(devices, Each(Field(&Device::mig, MigMode::kDisabled)));
  EXPECT_EQ(devices[7].numa_node, 1);
  const Topology topology = library->Distances(devices);
  for (size_t a = 0; a < 8; ++a) {
    for (size_t b = 0; b < 8; ++b) {
      EXPECT_EQ(topology.pairs[a][b].switch_links, a == b ? 0U : 12U);
      EXPECT_EQ(topology.pairs[a][b].nvlinks, 0U);
    }
  }
  EXPECT_EQ(topology.pairs[0][1].ancestor, Ancestor::kMultiple);
  EXPECT_EQ(topology.pairs[0][7].ancestor, Ancestor::kSystem);
}

TEST(FourV100, AreLinkedDirectly) {
  const auto library = Opened();
  const Topology topology = library->Distances(library->Enumerate()->found);
  ASSERT_THAT(topology.pairs, SizeIs(4));
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) {
      EXPECT_EQ(topology.pairs[a][b].nvlinks, a == b ? 0U : 2U);
      EXPECT_EQ(topology.pairs[a][b].switch_links, 0U);
    }
  }
}

TEST(Mixed, EachGpuHasItsOwnMigDevices) {
  const std::vector<Device> devices = Opened()->Enumerate()->found;
  ASSERT_THAT(devices, SizeIs(5));
  EXPECT_EQ(devices[0].mig, MigMode::kEnabled);
  EXPECT_EQ(devices[1].mig, MigMode::kDisabled);
  EXPECT_EQ(devices[2].mig, MigMode::kUnsupported);
  EXPECT_THAT(devices[1].mig_devices, IsEmpty());
  const std::vector<MigDevice>& mig = devices[0].mig_devices;
  ASSERT_THAT(mig, SizeIs(3));
  EXPECT_EQ(mig[0].profile, "3g.40gb");
  EXPECT_EQ(mig[1].profile, "2g.20gb");
  EXPECT_EQ(mig[2].profile, "1g.10gb+me");
  EXPECT_THAT(mig, Each(Field(&MigDevice::uuid, testing::StartsWith("MIG-"))));
  EXPECT_EQ(mig[2].index, 2U);
  EXPECT_EQ(mig[2].gpu_instance, 9U);
  EXPECT_EQ(mig[2].compute_instance, 0U);
  EXPECT_EQ(mig[2].attributes, (MigAttributes{.gpu_slices = 1,
                                              .compute_slices = 1,
                                              .multiprocessors = 14,
                                              .copy_engines = 1,
                                              .decoders = 1,
                                              .jpeg_engines = 1,
                                              .ofa_engines = 1,
                                              .memory_mib = 9856}));
}

TEST(Mixed, AChangeOfMigIsAnEvent) {
  const auto library = Opened();
  const std::vector<Device> before = library->Enumerate()->found;
  const auto events = library->NewEventSet().value();
  ASSERT_TRUE(events->Register(before[0].uuid).has_value());
  ASSERT_TRUE(events->Register(before[1].uuid).has_value());
  const std::string mig = std::getenv("NVML_MIG");
  ASSERT_EQ(std::system((mig + " destroy 3").c_str()), 0);
  const auto event = events->Wait(std::chrono::seconds(5));
  const std::vector<Device> after = library->Enumerate()->found;
  ASSERT_EQ(std::system((mig + " create 1c.2g.20gb 1c.2g.20gb").c_str()), 0);
  const std::vector<Device> split = library->Enumerate()->found;
  ASSERT_EQ(std::system((mig + " destroy 3").c_str()), 0);
  ASSERT_EQ(std::system((mig + " create 2g.20gb").c_str()), 0);
  EXPECT_EQ(event.value(), (EventSet::Event{.uuid = before[0].uuid,
                                            .mig_changed = true,
                                            .gpu_instance = std::nullopt,
                                            .compute_instance = std::nullopt}));
  EXPECT_THAT(after[0].mig_devices, SizeIs(2));
  ASSERT_THAT(split[0].mig_devices, SizeIs(4));
  EXPECT_EQ(split[0].mig_devices[1].profile, "1c.2g.20gb");
  EXPECT_EQ(split[0].mig_devices[2].compute_instance, 1U);
  EXPECT_EQ(library->Enumerate()->found, before);
}

TEST(Mixed, WithoutTheRightToWatchMigThereIsWhatTheNodesOpen) {
  const auto library = Opened();
  const std::filesystem::path caps = Root() / "dev/nvidia-caps";
  std::filesystem::rename(caps / "nvidia-cap1", caps / "1");
  std::filesystem::rename(caps / "nvidia-cap2", caps / "2");
  for (const char* name : {"nvidia-cap84", "nvidia-cap85"}) {  // gpu0/gi9/access, gpu0/gi9/ci0
    std::filesystem::create_symlink("/dev/null", caps / name);
  }
  const std::vector<Device> devices = library->Enumerate()->found;
  std::filesystem::rename(caps / "1", caps / "nvidia-cap1");
  std::filesystem::rename(caps / "2", caps / "nvidia-cap2");
  ASSERT_THAT(devices[0].mig_devices, SizeIs(1));
  EXPECT_EQ(devices[0].mig_devices[0].profile, "1g.10gb+me");
  EXPECT_EQ(devices[0].mig_devices[0].index, 0U);
}

TEST(Mixed, HowGpusAreDividedAndCouldBe) {
  const auto library = Opened();
  const std::vector<MigGpu> gpus = MigControl(*library).Read().value();
  ASSERT_THAT(gpus, SizeIs(5));
  EXPECT_EQ(gpus[0].pci_bus_id, "0000:17:00.0");
  EXPECT_EQ(gpus[0].pci_device, 0x20b510deU);
  EXPECT_EQ(gpus[0].pci_subsystem, 0x153310deU);
  EXPECT_TRUE(gpus[0].capable && gpus[0].enabled && gpus[0].enabled_pending);
  ASSERT_THAT(gpus[0].profiles, SizeIs(7));
  EXPECT_EQ(gpus[0].profiles[1], (GpuInstanceProfile{.number = 1,
                                                     .id = 14,
                                                     .name = "2g.20gb",
                                                     .slices = 2,
                                                     .count = 3,
                                                     .decoders = 1,
                                                     .size = 2,
                                                     .starts = {0, 2, 4}}));
  EXPECT_THAT(gpus[0].instances, testing::ElementsAre(GpuInstance{3, 14, 0, 2, {{0, 2}}},
                                                      GpuInstance{9, 20, 2, 1, {{0, 1}}},
                                                      GpuInstance{2, 9, 4, 4, {{0, 3}}}));
  EXPECT_TRUE(gpus[1].capable && !gpus[1].enabled);
  EXPECT_THAT(gpus[1].profiles, IsEmpty());  // this driver says them only while MIG is enabled
  EXPECT_FALSE(gpus[2].capable);
}

TEST(Mixed, AGpuIsDividedAndJoined) {
  const auto library = Opened();
  const MigControl control(*library);
  const MigGpu before = control.ReadGpu(1).value();
  const std::string& gpu = before.uuid;
  ASSERT_TRUE(control.SetMode(gpu, true).has_value());
  const GpuInstanceProfile three = control.ReadGpu(1)->profiles[2];
  ASSERT_EQ(three.name, "3g.40gb");
  const unsigned made = control.CreateGpuInstance(gpu, three, 4).value();
  const auto no_room = control.CreateGpuInstance(gpu, three, 4);
  const unsigned compute = control.CreateComputeInstance(gpu, made, 2).value();
  const auto too_large = control.CreateComputeInstance(gpu, made, 5);
  const MigGpu divided = control.ReadGpu(1).value();
  const Status in_use = control.DestroyGpuInstance(gpu, made);
  EXPECT_TRUE(control.DestroyComputeInstance(gpu, made, compute).has_value());
  EXPECT_TRUE(control.DestroyGpuInstance(gpu, made).has_value());
  const Status gone = control.DestroyGpuInstance(gpu, made);
  EXPECT_TRUE(control.SetMode(gpu, false).has_value());
  EXPECT_THAT(divided.instances,
              testing::ElementsAre(GpuInstance{made, three.id, 4, 4, {{compute, 2}}}));
  EXPECT_EQ(no_room.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(no_room.error().message, HasSubstr(gpu + " 3g.40gb at 4: INSUFFICIENT_RESOURCES"));
  EXPECT_EQ(too_large.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(in_use.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(control.ReadGpu(1).value(), before);
}

TEST(EightA100Mig, AreReadInOnePass) {
  const auto library = Opened();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Device> devices = library->Enumerate()->found;
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_THAT(devices, SizeIs(8));
  EXPECT_THAT(devices, Each(Field(&Device::mig_devices,
                                  AllOf(SizeIs(7), Each(Field(&MigDevice::profile, "1g.10gb"))))));
  EXPECT_LT(took, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace gantry::nvml
