// SPDX-License-Identifier: Apache-2.0
// Plans carried out on the folders of tests/golden/vm_nodes, with a kernel that plays Linux: also
// killed before and after each write.
#include "operands/vfio_manager/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "gpu/testing/pci_tree.h"
#include "operands/vfio_manager/gather.h"
#include "operands/vfio_manager/testing/fake_kernel.h"

namespace gantry::vfio_manager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Drivers = std::map<std::string, std::string>;

constexpr char kGpu[] = "0000:3b:00.0";
constexpr char kAudio[] = "0000:3b:00.1";
const Drivers kEarlier = {{kGpu, "nvidia"}, {kAudio, "snd_hda_intel"}};
const Drivers kBound = {{kGpu, "vfio-pci"}, {kAudio, "vfio-pci"}};

class ChangeTest : public testing::Test {
 protected:
  explicit ChangeTest(const std::string& name = "t4")
      : node_(ParseJson(ReadFile("tests/golden/vm_nodes/" + name + "/node.json").value()).value()) {
    Fresh();
  }

  // Another node of the same kind.
  void Fresh() {
    kernel_.reset();
    root_ = std::make_unique<TempFolder>();
    gpu::MakeNode(*root_, node_);
    places_ = {.sys = *root_ / "sys", .host_root = root_->path(), .journal = *root_ / "run/j.json"};
    Restart();
  }
  // Another process on the same node.
  void Restart() { kernel_ = std::make_unique<FakeKernel>(*root_); }

  Pass Bind() {
    auto pass = AllPasses(
        [&](const Tried& tried) { return BindOne(places_, *kernel_, selection_, tried); });
    EXPECT_TRUE(pass.has_value()) << pass.error().message;
    return pass.value_or(Pass());
  }
  Pass Restore(const std::optional<Selection>& selection = std::nullopt) {
    auto pass = AllPasses(
        [&](const Tried& tried) { return RestoreOne(places_, *kernel_, selection, tried); });
    EXPECT_TRUE(pass.has_value()) << pass.error().message;
    return pass.value_or(Pass());
  }
  template <typename Run>
  bool IsKilled(const Run& run) {
    try {
      run();
    } catch (const Killed&) {
      return true;
    }
    return false;
  }

  Drivers Now() {
    Drivers now;
    const Result<Facts> facts = ReadFacts(places_);
    for (const Function& function : facts->functions) {
      now[function.pci.address] = function.pci.driver;
    }
    return now;
  }
  Drivers Overrides() {
    Drivers now;
    const Result<Facts> facts = ReadFacts(places_);
    for (const Function& function : facts->functions) {
      if (!function.override.empty()) {
        now[function.pci.address] = function.override;
      }
    }
    return now;
  }
  void Hold(const std::string& node) {
    gpu::AddProcess(*root_, {{"pid", "4711"}, {"comm", "qemu"}, {"open", {node}}});
  }
  void LetGo() { std::filesystem::remove_all(*root_ / "proc/4711"); }
  [[nodiscard]] bool HasJournal() const { return std::filesystem::exists(places_.journal); }

  const Json node_;
  std::unique_ptr<TempFolder> root_;
  std::unique_ptr<FakeKernel> kernel_;
  Places places_;
  Selection selection_;
};

TEST_F(ChangeTest, AGroupIsBoundOnceAndGivenBack) {
  EXPECT_THAT(Bind().gpus, ElementsAre(kGpu));
  EXPECT_EQ(Now(), kBound);
  EXPECT_EQ(kernel_->writes, 6);
  Restart();
  EXPECT_THAT(Bind().problems, IsEmpty());
  EXPECT_EQ(kernel_->writes, 0);
  EXPECT_THAT(Restore().problems, IsEmpty());
  EXPECT_EQ(Now(), kEarlier);
  EXPECT_EQ(Overrides(), Drivers());
  EXPECT_FALSE(HasJournal());
}

TEST_F(ChangeTest, AMissingDriverIsLoadedFirst) {
  std::filesystem::remove_all(*root_ / "sys/bus/pci/drivers/vfio-pci");
  EXPECT_THAT(ProblemsText(Bind()), HasSubstr("the kernel module vfio_pci is not loaded"));
  EXPECT_EQ(kernel_->writes, 0);
  EXPECT_EQ(Now(), kEarlier);
  kernel_->loadable = {"vfio_pci"};
  EXPECT_THAT(Bind().problems, IsEmpty());
  EXPECT_EQ(Now(), kBound);
}

TEST_F(ChangeTest, AHeldGpuIsNotTouchedEitherWay) {
  Hold("/dev/nvidia0");
  const Pass pass = Bind();
  EXPECT_THAT(ProblemsText(pass), HasSubstr("in use by process 4711 (qemu, /dev/nvidia0)"));
  EXPECT_TRUE(pass.problems[0].refusal.passing);
  EXPECT_EQ(kernel_->writes, 0);
  LetGo();
  Hold("/dev/nvidia0 (deleted)");
  EXPECT_THAT(Bind().problems, testing::SizeIs(1));
  LetGo();
  Hold("/dev/nvidia01");
  EXPECT_THAT(Bind().problems, IsEmpty());
  LetGo();
  Hold("/dev/vfio/57");
  Restart();
  for (int restarts = 0; restarts < 100; ++restarts) {
    EXPECT_THAT(Bind().problems, IsEmpty());
  }
  EXPECT_THAT(ProblemsText(Restore()), HasSubstr("in use by process 4711 (qemu, /dev/vfio/57)"));
  EXPECT_EQ(kernel_->writes, 0);
  EXPECT_TRUE(HasJournal());
  LetGo();
  EXPECT_THAT(Restore().problems, IsEmpty());
  EXPECT_EQ(Now(), kEarlier);
}

TEST_F(ChangeTest, WithoutTheHostsProcessesNothingIsChanged) {
  std::filesystem::remove_all(*root_ / "proc/1");
  const auto pass = BindOne(places_, *kernel_, selection_, {});
  ASSERT_FALSE(pass.has_value());
  EXPECT_THAT(pass.error().message, HasSubstr("has no processes"));
  EXPECT_EQ(kernel_->writes, 0);
}

TEST_F(ChangeTest, AFailedChangeIsTakenBack) {
  kernel_->refused = {std::string("vfio-pci ") + kAudio};
  const Pass pass = Bind();
  EXPECT_THAT(ProblemsText(pass), HasSubstr("Invalid argument; given back"));
  EXPECT_EQ(Now(), kEarlier);
  EXPECT_EQ(Overrides(), Drivers());
  EXPECT_FALSE(HasJournal());
}

TEST_F(ChangeTest, WhatCannotBeGivenBackEitherIsInTheJournal) {
  kernel_->refused = {std::string("vfio-pci ") + kAudio, std::string("nvidia ") + kGpu};
  EXPECT_THAT(ProblemsText(Bind()), HasSubstr("not given back either"));
  EXPECT_TRUE(HasJournal());
  Restart();
  EXPECT_THAT(Bind().problems, IsEmpty());
  EXPECT_EQ(Now(), kBound);
  EXPECT_THAT(Restore().problems, IsEmpty());
  EXPECT_EQ(Now(), kEarlier);
}

TEST_F(ChangeTest, KilledAtAnyWriteTheNextStartBinds) {
  for (int write = 0; write < 6; ++write) {
    for (int FakeKernel::* when : {&FakeKernel::kill_before, &FakeKernel::kill_after}) {
      Fresh();
      (*kernel_).*when = write;
      EXPECT_TRUE(IsKilled([&] { Bind(); }));
      Restart();
      EXPECT_THAT(Bind().problems, IsEmpty());
      EXPECT_EQ(Now(), kBound) << write;
      EXPECT_THAT(Restore().problems, IsEmpty());
      EXPECT_EQ(Now(), kEarlier) << write;
      EXPECT_EQ(Overrides(), Drivers()) << write;
      EXPECT_FALSE(HasJournal());
    }
  }
}

TEST_F(ChangeTest, KilledAtAnyWriteWhatCannotBeFinishedIsGivenBack) {
  for (int write = 0; write < 6; ++write) {
    for (int FakeKernel::* when : {&FakeKernel::kill_before, &FakeKernel::kill_after}) {
      Fresh();
      (*kernel_).*when = write;
      EXPECT_TRUE(IsKilled([&] { Bind(); }));
      Restart();
      kernel_->refused = {std::string("vfio-pci ") + kGpu, std::string("vfio-pci ") + kAudio};
      Bind();
      Drivers now = Now();
      for (auto& [address, driver] : now) {
        // Bound before the kill, or given back.
        EXPECT_TRUE(driver == "vfio-pci" || driver == kEarlier.at(address)) << write << address;
      }
    }
  }
}

TEST_F(ChangeTest, KilledAtAnyWriteOfTheWayBackTheNextStartEndsIt) {
  for (int write = 0; write < 6; ++write) {
    for (int FakeKernel::* when : {&FakeKernel::kill_before, &FakeKernel::kill_after}) {
      Fresh();
      Bind();
      Restart();
      (*kernel_).*when = write;
      EXPECT_TRUE(IsKilled([&] { Restore(); }));
      Restart();
      EXPECT_THAT(Restore().problems, IsEmpty());
      EXPECT_EQ(Now(), kEarlier) << write;
      EXPECT_EQ(Overrides(), Drivers()) << write;
      EXPECT_FALSE(HasJournal());
    }
  }
}

TEST_F(ChangeTest, KilledWhileAFailedChangeIsTakenBackTheNextStartEndsIt) {
  for (int write = 0; write < 20; ++write) {
    Fresh();
    kernel_->refused = {std::string("vfio-pci ") + kAudio};
    kernel_->kill_after = write;
    if (!IsKilled([&] { Bind(); })) {
      EXPECT_GT(write, 8);
      return;
    }
    Restart();
    kernel_->refused = {std::string("vfio-pci ") + kAudio};
    EXPECT_THAT(Bind().problems, testing::SizeIs(1));
    EXPECT_EQ(Now(), kEarlier) << write;
    EXPECT_EQ(Overrides(), Drivers()) << write;
  }
  FAIL() << "more writes than expected";
}

class MixedNodeTest : public ChangeTest {
 protected:
  MixedNodeTest() : ChangeTest("mixed") {}
};

TEST_F(MixedNodeTest, OneGpuThatIsNotBoundIsNamedAndTheOthersAreBound) {
  const Pass pass = Bind();
  EXPECT_THAT(pass.gpus, ElementsAre(kGpu, "0000:81:00.0"));
  EXPECT_THAT(ProblemsText(pass), HasSubstr("GPU 0000:25:00.0 (IOMMU group 90): 0000:25:00.0 has 2 "
                                            "virtual functions"));
}

TEST_F(MixedNodeTest, OnlyWhatWasBoundHereIsGivenBackUnlessAsked) {
  Bind();
  Restore();
  EXPECT_EQ(Now()[kGpu], "nvidia");
  EXPECT_EQ(Now()["0000:81:00.0"], "vfio-pci");
  Restore(Selection{.address = "0000:81:00.0"});
  EXPECT_EQ(Now()["0000:81:00.0"], "");
  EXPECT_EQ(Now()[kGpu], "nvidia");
}

TEST(PassTextTest, IsReadBack) {
  const Pass pass{.acted = "GPU a",
                  .gpus = {"x"},
                  .problems = {{"GPU b", {.reason = "R", .message = "m", .passing = true}}},
                  .others = {"GPU c"}};
  const auto read = ParsePass(PassText(pass));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(PassText(*read), PassText(pass));
  EXPECT_EQ(read->problems[0].refusal.message, "m");
}

}  // namespace
}  // namespace gantry::vfio_manager
