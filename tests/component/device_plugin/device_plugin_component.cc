// SPDX-License-Identifier: Apache-2.0
// The program `gantry nvidia-device-plugin` beside a kubelet (fake) and GPUs (the test bed's
// library under $PLUGIN_ROOT, in a mount namespace with the root's /dev). $PLUGIN_PROGRAM is
// gantry, $PLUGIN_CONTROL the command that changes the GPUs. tests/component/test_device_plugin.py
// runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "kubelet/testing/fake_kubelet.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using kubelet::Device;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kGpus[] = "nvidia.com/gpu";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  CHECK(value != nullptr);
  return value;
}

void Control(const std::string& words) {
  ASSERT_EQ(std::system((Variable("PLUGIN_CONTROL") + " " + words).c_str()), 0) << words;
}

auto Count(size_t all, std::ptrdiff_t healthy) {
  return [=](const std::vector<Device>& devices) {
    return devices.size() == all && std::ranges::count_if(devices, &Device::healthy) == healthy;
  };
}

// A running plugin; its log goes to a file.
class Program {
 public:
  Program(const std::string& folder, const std::vector<std::string>& more) : log_(folder + "/log") {
    const auto root = Variable("PLUGIN_ROOT");
    std::vector<std::string> words = {
        "unshare",
        "--mount",
        "sh",
        "-c",
        format("mount --bind {}/dev /dev && exec \"$@\" 2>> {}", root, log_),
        "sh",
        Variable("PLUGIN_PROGRAM"),
        "nvidia-device-plugin",
        format("--kubelet-socket={}/kubelet.sock", folder),
        format("--driver-root-ctr-path={}", root),
        format("--host-root={}", root),
        format("--status-dir={}/validations", folder),
        format("--cdi-dir={}/cdi", folder)};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (auto& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    CHECK(posix_spawnp(&pid_, "unshare", nullptr, nullptr, argv.data(), environ) == 0);
  }
  ~Program() { End(SIGKILL); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The exit status, or -1 after a signal.
  int End(int signal) {
    if (pid_ == 0) {
      return -1;
    }
    kill(pid_, signal);
    int status = 0;
    CHECK(waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  bool WaitForLog(std::string_view text, seconds limit = seconds(20)) const {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (Log().find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      usleep(20'000);
    }
    return true;
  }
  [[nodiscard]] std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

 private:
  std::string log_;
  pid_t pid_ = 0;
};

class DevicePlugin : public testing::Test {
 protected:
  DevicePlugin() {
    std::string pattern = "/tmp/gantry-plugin-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    fs::create_directories(folder_ + "/config");
    fs::create_directories(folder_ + "/validations");
    kubelet_ = std::make_unique<kubelet::FakeKubelet>(folder_);
    kubelet_->Start();
  }
  ~DevicePlugin() override {
    kubelet_.reset();
    fs::remove_all(folder_);
  }

  std::unique_ptr<Program> Start(const std::vector<std::string>& more = {}) {
    return std::make_unique<Program>(folder_, more);
  }
  bool Has(size_t all, std::ptrdiff_t healthy, seconds limit = seconds(20)) {
    return kubelet_->WaitFor(kGpus, Count(all, healthy), limit);
  }
  void WriteConfig(const std::string& text) const {
    std::ofstream(folder_ + "/config/.new") << text;
    fs::rename(folder_ + "/config/.new", folder_ + "/config/any");
  }

  std::string folder_;
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
};

std::string Slices(int replicas) {
  return format(
      "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
      "    - name: nvidia.com/gpu\n      replicas: {}\n",
      replicas);
}

TEST_F(DevicePlugin, OffersEveryGpuAndAllocatesByCdi) {
  const auto plugin = Start({"--device-list-strategy=cdi-cri"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  const auto devices = kubelet_->Devices(kGpus);
  EXPECT_THAT(devices[0].id, testing::StartsWith("GPU-"));
  EXPECT_THAT(devices[0].numa_nodes, SizeIs(1));
  const auto got = kubelet_->Allocate(kGpus, {devices[3].id});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices,
              testing::ElementsAre("k8s.device-plugin.nvidia.com/gpu=" + devices[3].id));
  std::ostringstream document;
  document << std::ifstream(folder_ + "/cdi/k8s.device-plugin.nvidia.com-gpu.json").rdbuf();
  EXPECT_THAT(document.str(), HasSubstr(devices[3].id));
  EXPECT_THAT(document.str(), HasSubstr("/dev/nvidia3"));
}

TEST_F(DevicePlugin, PutsItsDocumentRight) {
  const auto plugin = Start({"--device-list-strategy=cdi-cri"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  const std::string path = folder_ + "/cdi/k8s.device-plugin.nvidia.com-gpu.json";
  fs::remove(path);
  for (int i = 0; i < 500 && !fs::exists(path); ++i) {
    usleep(20'000);
  }
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(DevicePlugin, WaitsForTheDriver) {
  const auto plugin = Start({"--wait-for-validations=driver-ready"});
  ASSERT_TRUE(plugin->WaitForLog("waiting for driver-ready"));
  EXPECT_EQ(kubelet_->registrations(), 0);
  std::ofstream(folder_ + "/validations/driver-ready") << "IS_HOST_DRIVER=true\n";
  EXPECT_TRUE(Has(8, 8)) << plugin->Log();
  fs::remove(folder_ + "/validations/driver-ready");
  EXPECT_FALSE(kubelet_->WaitFor(kGpus, Count(8, 0), seconds(1)))
      << "a status file that goes takes no GPU away";
}

TEST_F(DevicePlugin, AConfigurationAppliesWithoutARestart) {
  WriteConfig(Slices(4));
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(Has(32, 32)) << plugin->Log();
  WriteConfig(Slices(2));
  ASSERT_TRUE(Has(16, 16)) << plugin->Log();
  EXPECT_EQ(kubelet_->registrations(), 1) << "the stream went on";
  EXPECT_EQ(kubelet_->drops(), 0);
}

TEST_F(DevicePlugin, AWrongConfigurationLeavesTheLastGoodOne) {
  WriteConfig(Slices(4));
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(Has(32, 32)) << plugin->Log();
  for (const auto& [text, named] :
       {std::pair{std::string("sharing: {timeslicing: {}}"), "sharing.timeslicing: unknown key"},
        std::pair{Slices(0), "replicas"}, std::pair{std::string("version: [v1\n"), "line 2"}}) {
    WriteConfig(text);
    EXPECT_TRUE(plugin->WaitForLog(named)) << plugin->Log();
    EXPECT_TRUE(plugin->WaitForLog("configuration 'any' stays in force"));
    EXPECT_THAT(kubelet_->Devices(kGpus), SizeIs(32));
  }
  WriteConfig(Slices(3));
  EXPECT_TRUE(Has(24, 24)) << plugin->Log();
}

TEST_F(DevicePlugin, AWrongConfigurationAtTheStartOffersNothing) {
  WriteConfig(Slices(0));
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(plugin->WaitForLog("no GPU is offered until it is right")) << plugin->Log();
  EXPECT_EQ(kubelet_->registrations(), 0);
  WriteConfig(Slices(2));
  EXPECT_TRUE(Has(16, 16)) << plugin->Log();
}

TEST_F(DevicePlugin, AGpuThatIsLostGoesAloneAndComesBack) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("lose 3 --quiet");
  EXPECT_TRUE(Has(8, 7)) << plugin->Log();
  EXPECT_FALSE(kubelet_->Devices(kGpus)[3].healthy);
  Control("recover 3");
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
}

TEST_F(DevicePlugin, AFatalXidTakesAGpuOutAtOnceAndAnApplicationsDoesNot) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("xid 2 31");
  ASSERT_TRUE(plugin->WaitForLog("XID 31 on GPU-"));
  EXPECT_TRUE(Has(8, 8, seconds(0)));
  Control("xid 4 79");
  EXPECT_TRUE(Has(8, 7, seconds(2))) << plugin->Log();
  EXPECT_FALSE(kubelet_->Devices(kGpus)[4].healthy);
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
}

TEST_F(DevicePlugin, ACallThatHangsTakesOneGpuOutAndNobodyWaits) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("hang 5");
  EXPECT_TRUE(Has(8, 7, seconds(25))) << plugin->Log();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(kubelet_->Allocate(kGpus, {kubelet_->Devices(kGpus)[0].id}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(1));
  Control("unhang 5");
  EXPECT_TRUE(Has(8, 8, seconds(40))) << plugin->Log();
}

TEST_F(DevicePlugin, IsRegisteredAgainAfterItsDeathAndTheKubelets) {
  auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  plugin->End(SIGKILL);
  ASSERT_TRUE(Has(8, 0));
  plugin = Start();
  ASSERT_TRUE(Has(8, 8, seconds(2))) << plugin->Log();
  kubelet_->Stop();
  kubelet_ = std::make_unique<kubelet::FakeKubelet>(folder_);
  kubelet_->Start();
  ASSERT_TRUE(Has(8, 8, seconds(1))) << plugin->Log();
  EXPECT_EQ(plugin->End(SIGTERM), 0);
  EXPECT_FALSE(fs::exists(folder_ + "/nvidia-gpu.sock"));
}

}  // namespace
}  // namespace gantry
