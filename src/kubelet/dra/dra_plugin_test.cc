// SPDX-License-Identifier: Apache-2.0
// A driver beside the kubelet's calls, over real sockets.
#include "kubelet/dra/dra_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/testing/temp_folder.h"
#include "kubelet/dra/testing/fake_kubelet.h"
#include "kubelet/plugin_socket.h"

namespace gantry::kubelet::dra {
namespace {

using testing::ElementsAre;
using What = DraEvent::What;

class Handler : public ClaimHandler {
 public:
  Result<std::vector<PreparedDevice>> Prepare(const Claim& claim) override {
    if (claim.uid == "bad") {
      return Fail(ErrorKind::kInvalid, "claim " + claim.ns + "/" + claim.name + ": no");
    }
    return std::vector<PreparedDevice>{
        {.requests = {"r"}, .pool = "node", .device = "gpu-0", .cdi_ids = {"a/b=" + claim.uid}}};
  }
  Status Unprepare(const Claim& claim) override {
    return claim.uid == "bad" ? Fail(ErrorKind::kInternal, "in use") : Status{};
  }
};

class DraPluginTest : public testing::Test {
 protected:
  DraPluginTest() {
    std::filesystem::create_directory(registry_);
    std::filesystem::create_directory(folder_);
  }

  std::unique_ptr<DraPlugin> Start() {
    return DraPlugin::Start({.driver = "gpu.nvidia.com",
                             .registry = registry_,
                             .folder = folder_,
                             .handler = &handler_,
                             .on_event =
                                 [this](const DraEvent& event) {
                                   const std::lock_guard lock(mutex_);
                                   events_.push_back(event);
                                   changed_.notify_all();
                                 }})
        .value();
  }

  bool WaitFor(What what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      return std::ranges::any_of(events_, [&](const DraEvent& one) { return one.what == what; });
    });
  }

  TempFolder directory_;
  const std::string registry_ = directory_.path() + "/registry";
  const std::string folder_ = directory_.path() + "/plugin";
  const std::string registration_ = registry_ + "/gpu.nvidia.com-reg.sock";
  const std::string service_ = folder_ + "/dra.sock";
  Handler handler_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<DraEvent> events_;
};

TEST_F(DraPluginTest, SaysWhoItIsAndHearsOfItsRegistration) {
  const auto plugin = Start();
  const auto info = AskInfo(registration_).value();
  EXPECT_EQ(info.type, "DRAPlugin");
  EXPECT_EQ(info.name, "gpu.nvidia.com");
  EXPECT_EQ(info.endpoint, service_);
  EXPECT_THAT(info.versions, ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin"));
  EXPECT_TRUE(TellRegistered(registration_, ""));
  EXPECT_TRUE(WaitFor(What::kRegistered));
  EXPECT_TRUE(TellRegistered(registration_, "why not"));
  EXPECT_TRUE(WaitFor(What::kRegisterFailed));
  EXPECT_THAT(events_.back().error.message, testing::HasSubstr("why not"));
}

TEST_F(DraPluginTest, BothVersionsPrepareAndUnprepare) {
  const auto plugin = Start();
  for (const char* version : {"v1", "v1beta1"}) {
    const auto devices =
        AskPrepare(service_, version, {.ns = "ns", .uid = "u1", .name = "c"}).value();
    EXPECT_THAT(devices,
                ElementsAre(PreparedDevice{
                    .requests = {"r"}, .pool = "node", .device = "gpu-0", .cdi_ids = {"a/b=u1"}}));
    EXPECT_TRUE(AskUnprepare(service_, version, {.ns = "ns", .uid = "u1", .name = "c"}));
    const Claim bad{.ns = "ns", .uid = "bad", .name = "c"};
    EXPECT_EQ(AskPrepare(service_, version, bad).error().message, "claim ns/c: no");
    EXPECT_EQ(AskUnprepare(service_, version, bad).error().message, "in use");
  }
}

TEST_F(DraPluginTest, WhatIsNoCallOfItsOwnIsRefused) {
  const auto plugin = Start();
  EXPECT_EQ(AskAny(service_, "/v1alpha1.DRAResourceHealth/NodeWatchResources", "").error().kind,
            ErrorKind::kUnsupported);
  EXPECT_EQ(AskAny(service_, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/Nod", "").error().kind,
            ErrorKind::kUnsupported);
  EXPECT_EQ(
      AskAny(service_, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", "\x0a\xff")
          .error()
          .kind,
      ErrorKind::kInvalid);
}

TEST_F(DraPluginTest, ManyCallsAtOnce) {
  const auto plugin = Start();
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const Claim claim{.ns = "ns", .uid = std::to_string(i), .name = "c"};
      good += AskPrepare(service_, "v1", claim).has_value() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(good, 16);
}

TEST_F(DraPluginTest, ARemovedSocketIsMadeAnew) {
  const auto plugin = Start();
  const uint64_t before = SocketIdentity(registration_);
  unlink(registration_.c_str());
  for (int i = 0; i < 1000 && SocketIdentity(registration_) == 0; ++i) {
    usleep(10'000);
  }
  EXPECT_NE(SocketIdentity(registration_), 0);
  EXPECT_NE(SocketIdentity(registration_), before);
  EXPECT_TRUE(AskInfo(registration_));
}

TEST_F(DraPluginTest, ASuccessorKeepsItsSockets) {
  auto first = Start();
  const auto second = Start();
  EXPECT_TRUE(WaitFor(What::kSuperseded));
  first.reset();
  EXPECT_TRUE(AskInfo(registration_));
}

TEST_F(DraPluginTest, ItsSocketsGoWithIt) {
  Start().reset();
  EXPECT_EQ(SocketIdentity(registration_), 0);
  EXPECT_EQ(SocketIdentity(service_), 0);
}

TEST_F(DraPluginTest, WithoutTheKubeletsFolderThereIsNoDriver) {
  std::filesystem::remove_all(registry_);
  EXPECT_EQ(
      DraPlugin::Start({.driver = "d", .registry = registry_, .folder = folder_}).error().kind,
      ErrorKind::kNotFound);
}

}  // namespace
}  // namespace gantry::kubelet::dra
