// SPDX-License-Identifier: Apache-2.0
// A plugin host beside a fake kubelet, over real sockets in a folder of the test's own.
#include "kubelet/device_plugin/plugin_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/testing/temp_folder.h"
#include "kubelet/device_plugin/plugin_service.h"
#include "kubelet/plugin_socket.h"
#include "kubelet/testing/fake_kubelet.h"

namespace gantry::kubelet {
namespace {

using testing::ElementsAre;

constexpr char kResource[] = "example.com/gpu";
constexpr char kEndpoint[] = "example-gpu.sock";

class EchoAllocator : public Allocator {
 public:
  [[nodiscard]] Result<Allocation> Allocate(const std::vector<std::string>& ids) const override {
    Allocation allocation;
    for (const auto& id : ids) {
      if (id == "bad") {
        return Fail(ErrorKind::kInvalid, "unknown device: bad");
      }
      allocation.envs.emplace_back("ID_" + id, "x");
      allocation.cdi_devices.push_back("example.com/gpu=" + id);
      allocation.mounts.push_back({"/in", "/out", true});
      allocation.devices.push_back({"/dev/a", "/dev/b", "rw"});
    }
    return allocation;
  }
  [[nodiscard]] Result<std::vector<std::string>> Prefer(
      const PreferredRequest& request) const override {
    return std::vector<std::string>(request.available.begin(),
                                    request.available.begin() + request.size);
  }
};

std::vector<Device> Healthy(const std::vector<std::string>& ids) {
  std::vector<Device> devices;
  for (const auto& id : ids) {
    devices.push_back({.id = id, .healthy = true, .numa_nodes = {1}});
  }
  return devices;
}

class PluginHostTest : public testing::Test {
 protected:
  PluginHostTest() { kubelet_ = std::make_unique<FakeKubelet>(folder_); }
  ~PluginHostTest() override { kubelet_.reset(); }

  std::unique_ptr<PluginHost> NewHost() {
    auto host = PluginHost::Start({.folder = folder_,
                                   .kubelet_socket = "kubelet.sock",
                                   .on_event = [this](const PluginEvent& event) {
                                     superseded_ += event.what == PluginEvent::What::kSuperseded;
                                     failed_ += event.what == PluginEvent::What::kFailed;
                                     if (event.what == PluginEvent::What::kDropped) {
                                       const std::lock_guard lock(mutex_);
                                       dropped_.push_back(event.error.message);
                                     }
                                   }});
    return std::move(host).value();
  }
  static PluginResource Offer(const std::vector<std::string>& ids) {
    return {.name = kResource,
            .endpoint = kEndpoint,
            .devices = Healthy(ids),
            .allocator = std::make_shared<EchoAllocator>()};
  }
  bool WaitFor(const std::vector<Device>& devices) {
    return kubelet_->WaitFor(kResource, [&](const auto& seen) { return seen == devices; });
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::unique_ptr<FakeKubelet> kubelet_;
  std::atomic<int> superseded_ = 0;
  std::atomic<int> failed_ = 0;
  std::mutex mutex_;
  std::vector<std::string> dropped_;
};

TEST_F(PluginHostTest, RegistersAndAnswersEveryCall) {
  kubelet_->Start();
  const auto host = NewHost();
  host->Serve({Offer({"a", "b"})});
  ASSERT_TRUE(WaitFor(Healthy({"a", "b"})));
  const auto allocation = kubelet_->Allocate(kResource, {"b"});
  ASSERT_TRUE(allocation) << allocation.error().message;
  EXPECT_THAT(allocation->cdi_devices, ElementsAre("example.com/gpu=b"));
  EXPECT_THAT(allocation->envs, ElementsAre(std::pair<std::string, std::string>("ID_b", "x")));
  EXPECT_THAT(allocation->mounts, ElementsAre(Mount{"/in", "/out", true}));
  EXPECT_THAT(allocation->devices, ElementsAre(DeviceSpec{"/dev/a", "/dev/b", "rw"}));
  EXPECT_EQ(kubelet_->Prefer(kResource, {.available = {"a", "b"}, .required = {}, .size = 1}),
            std::vector<std::string>{"a"});
  const auto refused = kubelet_->Allocate(kResource, {"bad"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(refused.error().message, "unknown device: bad");
}

TEST_F(PluginHostTest, TheFolderMayHaveAsLongAPathAsASocketAllows) {
  constexpr size_t kLongest = 107;
  const std::string left(kLongest - folder_.size() - 2 - std::string(kEndpoint).size(), 'x');
  const std::string folder = folder_ + "/" + left;
  std::filesystem::create_directory(folder);
  const auto socket = PluginSocket::Listen(folder, kEndpoint);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_EQ(socket->Look(), OwnSocket::kOurs);
}

TEST_F(PluginHostTest, WaitsForAKubeletThatComesLater) {
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  kubelet_->Start();
  EXPECT_TRUE(WaitFor(Healthy({"a"})));
}

TEST_F(PluginHostTest, SendsAChangedListOnTheSameStream) {
  kubelet_->Start();
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  auto changed = Offer({"a", "b"});
  changed.devices[0].healthy = false;
  host->Serve({changed});
  EXPECT_TRUE(WaitFor(changed.devices));
  EXPECT_EQ(kubelet_->registrations(), 1);
  EXPECT_EQ(kubelet_->drops(), 0);
}

TEST_F(PluginHostTest, SurvivesKubeletRestarts) {
  kubelet_->Start();
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(WaitFor(Healthy({"a"}))) << i;
    kubelet_->Stop();
    kubelet_ = std::make_unique<FakeKubelet>(folder_);
    kubelet_->Start();
  }
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  EXPECT_TRUE(kubelet_->Allocate(kResource, {"a"}));
}

TEST_F(PluginHostTest, AsksAgainWhenRefused) {
  kubelet_->Refuse(3);
  kubelet_->Start();
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  EXPECT_TRUE(WaitFor(Healthy({"a"})));
  EXPECT_EQ(kubelet_->registrations(), 4);
}

TEST_F(PluginHostTest, ASuccessorTakesOverWithoutAMomentWithoutDevices) {
  kubelet_->Start();
  auto old_host = NewHost();
  old_host->Serve({Offer({"a"})});
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  auto new_host = NewHost();
  new_host->Serve({Offer({"a", "new"})});
  ASSERT_TRUE(WaitFor(Healthy({"a", "new"})));
  old_host.reset();
  EXPECT_EQ(superseded_, 1);
  EXPECT_NE(SocketIdentity(folder_ + "/" + kEndpoint), 0U) << "the successor's socket was removed";
  EXPECT_EQ(SocketIdentity(folder_ + "/" + kEndpoint + ".leaving"), 0U);
  // The predecessor, the successor, the predecessor's leaving, the successor again.
  ASSERT_TRUE(kubelet_->WaitForRegistrations(4));
  // A list of the newest stream that came after the end of the other would undo it.
  ASSERT_TRUE(kubelet_->WaitForLists(3));
  EXPECT_EQ(kubelet_->drops(), 0);
  EXPECT_TRUE(kubelet_->Allocate(kResource, {"new"}));
  new_host.reset();
  EXPECT_TRUE(kubelet_->WaitFor(kResource, [](const auto& devices) {
    return devices.size() == 2 && !devices[0].healthy && !devices[1].healthy;
  })) << "its end is noticed";
}

TEST_F(PluginHostTest, IsBackAtOnceWhenTheKubeletDropsItForItsPredecessor) {
  kubelet_->Start();
  // A predecessor that ends without leaving: it does not see that it was superseded.
  PluginService old_service(Healthy({"a"}), std::make_shared<EchoAllocator>(),
                            {.on_registered = [](const Status&) {}, .on_stream_ended = [](int) {}});
  auto socket = PluginSocket::Listen(folder_, kEndpoint);
  ASSERT_TRUE(socket);
  old_service.Register(ConnectTo(folder_ + "/kubelet.sock").value(), kResource, kEndpoint);
  int connection = -1;
  while (connection < 0) {
    connection = socket->Accept();
  }
  old_service.Adopt(connection);
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  const auto new_host = NewHost();
  new_host->Serve({Offer({"a", "new"})});
  ASSERT_TRUE(WaitFor(Healthy({"a", "new"})));
  old_service.Retire();
  ASSERT_TRUE(kubelet_->WaitForRegistrations(3));
  EXPECT_EQ(kubelet_->drops(), 1);
  EXPECT_TRUE(WaitFor(Healthy({"a", "new"})));
}

// kdp#1433: the kubelet's gRPC ends the stream, and its reason stands in its log alone.
TEST_F(PluginHostTest, Kdp1433_AListThatTheKubeletDoesNotTakeIsNoLoopOfRegistrations) {
  kubelet_->Start();
  const auto host = NewHost();
  std::vector<std::string> ids;
  for (int i = 0; i < 80'000; ++i) {
    ids.push_back("GPU-00000000-0000-0000-0000-000000000000::" + std::to_string(i));
  }
  host->Serve({Offer(ids)});
  ASSERT_TRUE(kubelet_->WaitForRegistrations(3));
  const std::lock_guard lock(mutex_);
  ASSERT_GE(dropped_.size(), 2U);
  EXPECT_THAT(dropped_[0], testing::AllOf(testing::HasSubstr("80000 devices (CANCELLED)"),
                                          testing::HasSubstr("the kubelet takes 4194304"),
                                          testing::HasSubstr("registering again in 20 ms")));
  EXPECT_THAT(dropped_[1], testing::HasSubstr("registering again in 40 ms"));
}

TEST_F(PluginHostTest, AResourceThatGoesSaysSoFirst) {
  kubelet_->Start();
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  host->Serve({});
  EXPECT_TRUE(WaitFor({}));
  host->Serve({Offer({"b"})});
  EXPECT_TRUE(WaitFor(Healthy({"b"})));
}

TEST_F(PluginHostTest, RemovesItsSocketAtTheEnd) {
  kubelet_->Start();
  auto host = NewHost();
  host->Serve({Offer({"a"})});
  ASSERT_TRUE(WaitFor(Healthy({"a"})));
  host.reset();
  EXPECT_EQ(SocketIdentity(folder_ + "/" + kEndpoint), 0U);
}

TEST_F(PluginHostTest, ASocketThatCannotBeMadeIsSaidOnceAndTriedAgain) {
  kubelet_->Start();
  const std::string in_the_way = folder_ + "/" + kEndpoint;
  std::filesystem::create_directory(in_the_way);
  const auto host = NewHost();
  host->Serve({Offer({"a"})});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // the second time was after 1 s
  std::filesystem::remove(in_the_way);
  EXPECT_TRUE(WaitFor(Healthy({"a"})));
  EXPECT_EQ(failed_, 1);
}

TEST_F(PluginHostTest, AMissingFolderIsNamed) {
  const auto host =
      PluginHost::Start({.folder = folder_ + "/none", .kubelet_socket = "k", .on_event = {}});
  ASSERT_FALSE(host);
  EXPECT_EQ(host.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(host.error().message, testing::HasSubstr(folder_ + "/none"));
}

}  // namespace
}  // namespace gantry::kubelet
