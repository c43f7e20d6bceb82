// SPDX-License-Identifier: Apache-2.0
// The program `gantry nvidia-device-plugin` beside a kubelet (fake) and GPUs (the test bed's
// library under $PLUGIN_ROOT, in a mount namespace with the root's /dev). $PLUGIN_PROGRAM is
// gantry, $PLUGIN_CONTROL the command that changes the GPUs. tests/component/test_device_plugin.py
// runs it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/hook_program.h"
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
    argv.reserve(words.size() + 1);
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

  // For its own end.
  int Wait() { return End(0); }

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

// A node brings NVIDIA's toolkit itself, has none, or is changed over between NVIDIA's and ours.
TEST_F(DevicePlugin, HooksAreThoseOfTheProgramOnTheNode) {
  const auto root = Variable("PLUGIN_ROOT");
  const std::string program = "/opt" + folder_ + "/nvidia-cdi-hook";
  fs::create_directories(fs::path(root + program).parent_path());
  const auto put = [&](const std::string& text) {
    std::ofstream(root + program + ".new") << text;
    fs::permissions(root + program + ".new", fs::perms::owner_all);
    fs::rename(root + program + ".new", root + program);
  };
  const auto told = [&](const std::string& hook) {
    for (int i = 0; i < 500; ++i) {
      if (ReadFile(folder_ + "/cdi/k8s.device-plugin.nvidia.com-gpu.json")
              .value_or("")
              .contains('"' + hook + '"')) {
        return true;
      }
      usleep(20'000);
    }
    return false;
  };
  const auto plugin =
      Start({"--device-list-strategy=cdi-cri", "--nvidia-cdi-hook-path=" + program});
  ASSERT_TRUE(Has(8, 0)) << "no container with a GPU could start" << plugin->Log();
  EXPECT_TRUE(plugin->WaitForLog("the node has no program " + program));
  put("#!/bin/sh\n");
  EXPECT_TRUE(Has(8, 8)) << plugin->Log();
  EXPECT_TRUE(told("update-ldcache"));
  put(container::HookMarker());
  EXPECT_TRUE(told("create-container"));
  put("NVIDIA's");
  EXPECT_TRUE(told("update-ldcache"));
  fs::remove(root + program);
  EXPECT_TRUE(Has(8, 0)) << plugin->Log();
}

TEST_F(DevicePlugin, ACudaToolkitComesWithEveryGpuWhileThereIsOne) {
  const std::string toolkit = folder_ + "/cdi/nvidia.com-cuda.json";
  const auto put = [&](const std::string& text) {
    std::ofstream(folder_ + "/cuda.json") << text;
    fs::rename(folder_ + "/cuda.json", toolkit);
  };
  const auto told = [&](bool wanted) {
    std::string text;
    for (int i = 0; i < 500; ++i) {
      text = ReadFile(folder_ + "/cdi/k8s.device-plugin.nvidia.com-gpu.json").value_or("");
      if (text.contains("/opt/nvidia/cuda-12.4") == wanted && text.contains("GPU-")) {
        return true;
      }
      usleep(20'000);
    }
    return false;
  };
  const auto plugin =
      Start({"--device-list-strategy=cdi-cri", "--cuda-cdi-device=nvidia.com/cuda=default"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  EXPECT_TRUE(told(false)) << "GPUs don't wait for it";
  put(R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/cuda", "devices": [{"name": "default",
          "containerEdits": {"mounts": [{"hostPath": "/var/lib/nvidia/cuda/versions/12.4-a",
          "containerPath": "/opt/nvidia/cuda-12.4", "options": ["ro"]}]}}]})");
  EXPECT_TRUE(told(true)) << plugin->Log();
  const auto id = kubelet_->Devices(kGpus)[0].id;
  const auto got = kubelet_->Allocate(kGpus, {id});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, testing::ElementsAre("k8s.device-plugin.nvidia.com/gpu=" + id))
      << "the kubelet keeps the answer, and a release may go";
  put("half a docum");
  EXPECT_TRUE(told(false)) << plugin->Log();
  EXPECT_TRUE(Has(8, 8));
  put(R"({"cdiVersion": "0.5.0", "kind": "nvidia.com/cuda", "devices": [{"name": "default",
          "containerEdits": {"env": ["A=/opt/nvidia/cuda-12.4"]}}]})");
  EXPECT_TRUE(told(true)) << plugin->Log();
  fs::remove(toolkit);
  EXPECT_TRUE(told(false)) << plugin->Log();
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

TEST_F(DevicePlugin, TegraOnAnotherNodeIsAnErrorThatSaysSo) {
  const auto waits = Start({"--device-discovery-strategy=tegra", "--fail-on-init-error=false"});
  EXPECT_TRUE(waits->WaitForLog("tegra: this node is no Tegra system")) << waits->Log();
  EXPECT_EQ(waits->End(SIGTERM), 0);
  const auto ends = Start({"--device-discovery-strategy=tegra"});
  EXPECT_EQ(ends->Wait(), 1) << ends->Log();
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

// The kubelet takes lists of 4 MiB; of this one it would drop the plugin again and again.
TEST_F(DevicePlugin, Kdp1433_NoMoreReplicasAreOfferedThanTheKubeletsListHolds) {
  WriteConfig(Slices(16384));
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(kubelet_->WaitFor(kGpus, [](const auto& all) { return all.size() > 50'000; }))
      << plugin->Log();
  EXPECT_TRUE(plugin->WaitForLog("sharing.timeSlicing.resources[0].replicas: 16384"));
  EXPECT_EQ(kubelet_->registrations(), 1);
  EXPECT_EQ(kubelet_->drops(), 0);
}

TEST_F(DevicePlugin, AWrongConfigurationLeavesTheLastGoodOne) {
  WriteConfig(Slices(4));
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(Has(32, 32)) << plugin->Log();
  for (const auto& [text, named] :
       {std::pair{std::string("sharing: {timeslicing: {}}"), "sharing.timeslicing.resources: must"},
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

TEST_F(DevicePlugin, GpusWhoseDeviceNodesComeLateAreOffered) {
  const fs::path dev = Variable("PLUGIN_ROOT") + "/dev";
  const auto remove = [&dev](const char* name) {
    struct stat info{};
    EXPECT_EQ(stat((dev / name).c_str(), &info), 0);
    fs::remove(dev / name);
    return info;
  };
  const auto sixth = remove("nvidia6");
  const auto seventh = remove("nvidia7");
  const auto plugin = Start();
  EXPECT_TRUE(Has(6, 6)) << plugin->Log();
  EXPECT_EQ(mknod((dev / "nvidia6").c_str(), sixth.st_mode, sixth.st_rdev), 0);
  EXPECT_TRUE(Has(7, 7)) << plugin->Log();
  EXPECT_EQ(mknod((dev / "nvidia7").c_str(), seventh.st_mode, seventh.st_rdev), 0);
  EXPECT_TRUE(Has(8, 8)) << plugin->Log();
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

// The state of the one GPU that each XID hits, and nobody else's. The kubelet's view is the same as
// the plugin's: both are within a second.
TEST_F(DevicePlugin, EachXidHasItsVerdictWithinASecondAndNothingStaysOut) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  for (const char* xid : {"13", "31", "43", "45"}) {
    Control(format("xid 6 {}", xid));
    EXPECT_TRUE(plugin->WaitForLog(format("XID {} on GPU-", xid), seconds(1)));
  }
  for (const char* xid : {"63", "94"}) {
    Control(format("xid 7 {}", xid));
    EXPECT_TRUE(plugin->WaitForLog(format("XID {} on GPU-", xid), seconds(1)));
  }
  EXPECT_TRUE(plugin->WaitForLog("is suspect, and in service while it answers: XID 63"));
  EXPECT_TRUE(Has(8, 8, seconds(0))) << plugin->Log();
  std::ptrdiff_t healthy = 8;
  for (const char* xid : {"48", "74", "79", "95", "109", "119"}) {
    const auto gpu = 8 - healthy;
    Control(format("xid {} {}", gpu, xid));
    healthy--;
    EXPECT_TRUE(Has(8, healthy, seconds(1))) << xid << "\n" << plugin->Log();
    EXPECT_FALSE(kubelet_->Devices(kGpus)[static_cast<size_t>(gpu)].healthy) << xid;
  }
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
  EXPECT_EQ(kubelet_->registrations(), 1) << "without a restart";
}

TEST_F(DevicePlugin, AGpuThatNeedsAResetWaitsForIt) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("set 1 recovery_action=1");
  Control("xid 1 109");
  ASSERT_TRUE(Has(8, 7, seconds(1))) << plugin->Log();
  EXPECT_FALSE(Has(8, 8, seconds(20))) << "it answers, and is not fit for service";
  Control("set 1 recovery_action=0");
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
}

TEST_F(DevicePlugin, Kdp231AGpuThatFallsOffTheBusGoesAloneWithinASecond) {
  const auto plugin = Start();
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("lose 3");
  EXPECT_TRUE(Has(8, 7, seconds(1))) << plugin->Log();
  EXPECT_FALSE(kubelet_->Devices(kGpus)[3].healthy);
  EXPECT_TRUE(kubelet_->Allocate(kGpus, {kubelet_->Devices(kGpus)[2].id}));
  // The others' events are heard all the same.
  Control("xid 4 48");
  EXPECT_TRUE(Has(8, 6, seconds(3))) << plugin->Log();
  Control("recover 3");
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
}

TEST_F(DevicePlugin, AnAdministratorsXidTableCountsAtOnce) {
  WriteConfig("health: {xids: {ignore: [79], unhealthy: [31]}}");
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  Control("xid 1 79");
  ASSERT_TRUE(plugin->WaitForLog("XID 79 on GPU-"));
  EXPECT_TRUE(Has(8, 8, seconds(0)));
  Control("xid 1 31");
  EXPECT_TRUE(Has(8, 7, seconds(1))) << plugin->Log();
}

TEST_F(DevicePlugin, Kdp628OnlyTheGpusThatAreNamedAreShared) {
  WriteConfig(
      "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 4, "
      "devices: [0, 5]}]}}");
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(Has(6, 6)) << plugin->Log();
  EXPECT_TRUE(kubelet_->WaitFor("nvidia.com/gpu.shared", Count(8, 8))) << plugin->Log();
}

// Of GPUs that MPS shares and others that it does not, the latter don't wait for its daemon.
TEST_F(DevicePlugin, Kdp982AnMpsDaemonThatIsNotReadyKeepsNobodyElseBack) {
  const fs::path mps = Variable("PLUGIN_ROOT") + "/run/nvidia/mps";
  fs::remove_all(mps);
  WriteConfig(
      "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 4, "
      "devices: [0]}]}}");
  const auto plugin = Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any",
                             "--mps-root=/run/nvidia/mps"});
  constexpr char kShares[] = "nvidia.com/gpu.shared";
  ASSERT_TRUE(Has(7, 7)) << plugin->Log();
  EXPECT_TRUE(kubelet_->WaitFor(kShares, Count(4, 0))) << plugin->Log();
  EXPECT_TRUE(plugin->WaitForLog("nvidia.com/gpu.shared: its MPS control daemon is not ready"));
  fs::create_directories(mps / kShares);
  const auto started = (mps / kShares / ".started").string();
  std::ofstream(started) << "";
  EXPECT_FALSE(kubelet_->WaitFor(kShares, Count(4, 4), seconds(1))) << "nobody holds it";
  const auto hold = [&started] {
    const int file = open(started.c_str(), O_WRONLY | O_CLOEXEC);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
    std::ofstream(started, std::ios::app) << "";
    return file;
  };
  const int held = hold();
  EXPECT_TRUE(kubelet_->WaitFor(kShares, Count(4, 4), seconds(2))) << plugin->Log();
  const auto got = kubelet_->Allocate(kShares, {kubelet_->Devices(kShares)[0].id});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->envs[0].second, "/mps/nvidia.com/gpu.shared/pipe");
  close(held);
  EXPECT_TRUE(kubelet_->WaitFor(kShares, Count(4, 0), seconds(2))) << "killed: " << plugin->Log();
  const int again = hold();
  EXPECT_TRUE(kubelet_->WaitFor(kShares, Count(4, 4), seconds(2))) << plugin->Log();
  fs::remove_all(mps);
  close(again);
  EXPECT_TRUE(kubelet_->WaitFor(kShares, Count(4, 0), seconds(2))) << plugin->Log();
  EXPECT_TRUE(Has(7, 7, seconds(0)));
}

TEST_F(DevicePlugin, ImexChannelsAndGdrcopyGoByCdiIfTheNodeHasThem) {
  const fs::path dev = Variable("PLUGIN_ROOT") + "/dev";
  fs::create_directories(dev / "nvidia-caps-imex-channels");
  ASSERT_EQ(
      mknod((dev / "nvidia-caps-imex-channels/channel0").c_str(), S_IFCHR | 0666U, makedev(1, 3)),
      0);
  ASSERT_EQ(mknod((dev / "gdrdrv").c_str(), S_IFCHR | 0666U, makedev(1, 3)), 0);
  const auto plugin = Start({"--device-list-strategy=cdi-cri", "--imex-channel-ids=0",
                             "--gdrcopy-enabled", "--gds-enabled"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  const auto got = kubelet_->Allocate(kGpus, {kubelet_->Devices(kGpus)[0].id});
  fs::remove_all(dev / "nvidia-caps-imex-channels");
  fs::remove(dev / "gdrdrv");
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices,
              testing::ElementsAre(testing::StartsWith("k8s.device-plugin.nvidia.com/gpu=GPU-"),
                                   "k8s.device-plugin.nvidia.com/imex-channel=0",
                                   "k8s.device-plugin.nvidia.com/gdrcopy=all"));
  for (const char* device_class : {"imex-channel", "gdrcopy"}) {
    EXPECT_TRUE(
        fs::exists(format("{}/cdi/k8s.device-plugin.nvidia.com-{}.json", folder_, device_class)));
  }
  EXPECT_FALSE(fs::exists(folder_ + "/cdi/k8s.device-plugin.nvidia.com-gds.json"));
}

TEST_F(DevicePlugin, AnImexChannelThatComesLateIsDescribedBeforeItIsNamed) {
  const fs::path channels = Variable("PLUGIN_ROOT") + "/dev/nvidia-caps-imex-channels";
  const auto plugin = Start({"--device-list-strategy=cdi-cri", "--imex-channel-ids=0"});
  ASSERT_TRUE(Has(8, 8)) << plugin->Log();
  const auto document = folder_ + "/cdi/k8s.device-plugin.nvidia.com-imex-channel.json";
  EXPECT_FALSE(fs::exists(document));
  fs::create_directories(channels);
  ASSERT_EQ(mknod((channels / "channel0").c_str(), S_IFCHR | 0666U, makedev(1, 3)), 0);
  Control("xid 3 48");  // whatever makes it offer anew
  ASSERT_TRUE(Has(8, 7, seconds(2))) << plugin->Log();
  const auto got = kubelet_->Allocate(kGpus, {kubelet_->Devices(kGpus)[0].id});
  fs::remove_all(channels);
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, testing::Contains("k8s.device-plugin.nvidia.com/imex-channel=0"));
  EXPECT_TRUE(fs::exists(document));
}

// What new devices wait for, here a channel that went, keeps no failure from the kubelet.
TEST_F(DevicePlugin, AGpuThatFailsWhileSomethingIsMissingGoes) {
  const fs::path channels = Variable("PLUGIN_ROOT") + "/dev/nvidia-caps-imex-channels";
  fs::create_directories(channels);
  ASSERT_EQ(mknod((channels / "channel0").c_str(), S_IFCHR | 0666U, makedev(1, 3)), 0);
  const auto plugin = Start({"--imex-channel-ids=0", "--imex-required"});
  const bool began = Has(8, 8);
  fs::remove_all(channels);
  ASSERT_TRUE(began) << plugin->Log();
  Control("xid 5 48");
  EXPECT_TRUE(Has(8, 7, seconds(2))) << plugin->Log();
  EXPECT_FALSE(kubelet_->Devices(kGpus)[5].healthy);
  EXPECT_TRUE(plugin->WaitForLog("IMEX channel 0 is required"));
  EXPECT_TRUE(Has(8, 8, seconds(30))) << plugin->Log();
}

TEST_F(DevicePlugin, TwoGpusThatAreLostOneAfterTheOtherStayInTheList) {
  Control("lose 6 --quiet");
  const auto plugin = Start();
  const bool began = Has(7, 7);
  Control("lose 2");
  const bool second = Has(7, 6, seconds(3));
  EXPECT_FALSE(kubelet_->WaitFor(
      kGpus, [](const auto& devices) { return devices.size() == 6; }, seconds(12)))
      << "a later look takes nothing away";
  Control("recover 2");
  Control("recover 6");
  EXPECT_TRUE(began && second) << plugin->Log();
  EXPECT_TRUE(Has(8, 8, seconds(40))) << plugin->Log();
}

TEST_F(DevicePlugin, ARequiredImexChannelThatIsMissingOffersNothing) {
  const auto plugin = Start({"--imex-channel-ids=0", "--imex-required"});
  EXPECT_TRUE(plugin->WaitForLog("IMEX channel 0 is required")) << plugin->Log();
  EXPECT_EQ(kubelet_->registrations(), 0);
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

// --- any machine: what feature discovery says of it ---

class DevicePluginAndLabels : public DevicePlugin {
 protected:
  // The labels that gpu-feature-discovery gives with these flags; by what follows "nvidia.com/".
  // None: it refuses them.
  static std::map<std::string, std::string> Labels(const std::string& flags) {
    const auto root = Variable("PLUGIN_ROOT");
    const auto command = format(
        "unshare --mount sh -c 'mount --bind {0}/dev /dev && exec {1} gpu-feature-discovery "
        "--oneshot --no-timestamp --use-node-feature-api=false --output-file= "
        "--driver-root-ctr-path={0} --sys-root={0}/sys {2}'",
        root, Variable("PLUGIN_PROGRAM"), flags);
    std::map<std::string, std::string> labels;
    FILE* output = popen(command.c_str(), "r");
    CHECK(output != nullptr);
    std::array<char, 512> line{};
    while (fgets(line.data(), line.size(), output) != nullptr) {
      const std::string text(Trim(line.data()));
      const size_t slash = text.find('/');
      const size_t equals = text.find('=');
      labels[text.substr(slash + 1, equals - slash - 1)] = text.substr(equals + 1);
    }
    EXPECT_EQ(pclose(output) == 0, !labels.empty());
    return labels;
  }

  struct Offer {
    int devices = 0;
    int replicas = 0;
    bool operator==(const Offer&) const = default;
  };
  // Of a resource under both its names; whole GPUs of that product alone.
  Offer Offered(const std::string& resource, const std::string& product) {
    std::map<std::string, int> by_uuid;
    for (const auto& name : {resource, resource + ".shared"}) {
      for (const auto& device : kubelet_->Devices(name)) {
        const std::string uuid = device.id.substr(0, device.id.find("::"));
        const auto known = products_.find(uuid);
        by_uuid[uuid] += known == products_.end() || product.starts_with(known->second) ? 1 : 0;
      }
    }
    std::erase_if(by_uuid, [](const auto& one) { return one.second == 0; });
    Offer offer{.devices = static_cast<int>(by_uuid.size())};
    for (const auto& [uuid, replicas] : by_uuid) {
      offer.replicas = std::max(offer.replicas, replicas);
    }
    return offer;
  }

  // Whether all labels say what is offered.
  bool Agree(const std::map<std::string, std::string>& labels, bool single, std::string& why) {
    why.clear();
    for (const auto& [key, count] : labels) {
      if (!key.ends_with(".count")) {
        continue;
      }
      const auto resource = key.substr(0, key.size() - std::string(".count").size());
      const auto& product = labels.at(resource + ".product");
      const Offer said{.devices = std::stoi(count),
                       .replicas = std::stoi(labels.at(resource + ".replicas"))};
      Offer offered = Offered("nvidia.com/" + resource, product);
      // GPUs in MIG mode are counted, as upstream counts them, and not offered.
      if (resource == "gpu" && !single) {
        offered.devices = std::max(offered.devices, said.devices);
      }
      const auto& strategy = labels.at(resource + ".sharing-strategy");
      const bool shared = !strategy.empty() && strategy != "none";
      if (said != offered || shared != (said.replicas > 1) ||
          product.ends_with("-SHARED") != shared) {
        why += format("{}: {} x {} in labels, {} x {} offered\n", resource, said.devices,
                      said.replicas, offered.devices, offered.replicas);
      }
    }
    return why.empty();
  }

  std::map<std::string, std::string> products_;  // as labels have them, by UUID
};

TEST_F(DevicePluginAndLabels, Gfd27_LabelsSayWhatIsOffered) {
  const auto machine =
      ParseJson(ReadFile(Variable("PLUGIN_ROOT") + "/opt/fakegpu/machine.json").value()).value();
  for (const auto& gpu : machine.at("gpus")) {
    auto name = gpu.at("name").get<std::string>();
    std::ranges::replace(name, ' ', '-');
    products_[gpu.at("uuid").get<std::string>()] = name;
  }
  for (const auto* strategy : {"none", "single", "mixed"}) {
    for (const auto* sharing : {"{}", "{timeSlicing: {resources: [{name: gpu, replicas: 4}]}}",
                                "{mps: {resources: [{name: gpu, replicas: 3}]}}"}) {
      SCOPED_TRACE(format("{} {}", strategy, sharing));
      kubelet_ = std::make_unique<kubelet::FakeKubelet>(folder_);
      kubelet_->Start();
      WriteConfig(format("version: v1\nsharing: {}\n", sharing));
      const auto flags = format("--mig-strategy={} --config-file={}/config/any", strategy, folder_);
      const auto labels = Labels(flags);
      auto words = Split(flags, ' ');
      words.emplace_back("--mps-root=/run/nvidia/mps");
      const auto plugin = Start(words);
      if (labels.empty()) {
        EXPECT_TRUE(plugin->WaitForLog("no GPU is offered until it is right")) << plugin->Log();
        continue;
      }
      std::string why;
      for (int i = 0; i < 1000 && !Agree(labels, strategy == std::string_view("single"), why);
           ++i) {
        usleep(20'000);
      }
      EXPECT_EQ(why, "") << plugin->Log();
    }
  }
}

// --- eight GPUs with seven MIG devices each ---

class DevicePluginMig : public DevicePlugin {
 protected:
  static constexpr char kSmall[] = "nvidia.com/mig-1g.10gb";

  // After GPU 3 was divided by two: both are offered; then it is divided by seven again.
  void ExpectTwoOfGpu3AndDivideItAgain(const Program& plugin) {
    EXPECT_TRUE(kubelet_->WaitFor(kSmall, Count(49, 49), seconds(5))) << plugin.Log();
    EXPECT_TRUE(kubelet_->WaitFor("nvidia.com/mig-3g.40gb", Count(2, 2), seconds(5)))
        << plugin.Log();
    Control("mig 3 destroy");
    Control("mig 3 create 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb 1g.10gb");
    EXPECT_TRUE(kubelet_->WaitFor(kSmall, Count(56, 56), seconds(5))) << plugin.Log();
  }
};

TEST_F(DevicePluginMig, MixedOffersEachProfileAndAllocatesItsNodes) {
  const auto plugin = Start({"--mig-strategy=mixed", "--device-list-strategy=cdi-cri,envvar",
                             "--pass-device-specs", "--device-id-strategy=index"});
  ASSERT_TRUE(kubelet_->WaitFor(kSmall, Count(56, 56))) << plugin->Log();
  const auto devices = kubelet_->Devices(kSmall);
  EXPECT_THAT(devices[0].id, testing::StartsWith("MIG-"));
  EXPECT_THAT(devices[0].numa_nodes, SizeIs(1));
  const auto got = kubelet_->Allocate(kSmall, {devices[8].id});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->cdi_devices, testing::ElementsAre("k8s.device-plugin.nvidia.com/gpu=1:1"));
  std::vector<std::string> nodes;
  for (const auto& device : got->devices) {
    nodes.push_back(device.container_path);
  }
  EXPECT_THAT(nodes, testing::IsSupersetOf({std::string("/dev/nvidia1")}));
  EXPECT_EQ(std::ranges::count_if(
                nodes, [](const auto& path) { return path.starts_with("/dev/nvidia-caps/"); }),
            2);
  std::ostringstream document;
  document << std::ifstream(folder_ + "/cdi/k8s.device-plugin.nvidia.com-gpu.json").rdbuf();
  EXPECT_THAT(document.str(), HasSubstr("\"1:1\""));
}

TEST_F(DevicePluginMig, SingleCallsEveryDeviceAGpuAndNoneOffersNothing) {
  auto plugin = Start({"--mig-strategy=single"});
  ASSERT_TRUE(Has(56, 56)) << plugin->Log();
  plugin->End(SIGTERM);
  plugin = Start({"--mig-strategy=none"});
  EXPECT_TRUE(plugin->WaitForLog("is in MIG mode, and MIG_STRATEGY is none")) << plugin->Log();
  EXPECT_TRUE(plugin->WaitForLog("this node has no GPU to offer"));
}

TEST_F(DevicePluginMig, DevicesThatComeAndGoAreSeenWithoutARestart) {
  const auto plugin = Start({"--mig-strategy=mixed"});
  ASSERT_TRUE(kubelet_->WaitFor(kSmall, Count(56, 56))) << plugin->Log();
  Control("mig 3 destroy");
  Control("mig 3 create 3g.40gb 3g.40gb");
  ExpectTwoOfGpu3AndDivideItAgain(*plugin);
}

// The look that the first change asks for has read GPU 3 already when the second one comes.
TEST_F(DevicePluginMig, AChangeDuringALookIsSeen) {
  const auto plugin = Start({"--mig-strategy=mixed"});
  ASSERT_TRUE(kubelet_->WaitFor(kSmall, Count(56, 56))) << plugin->Log();
  Control("hang 5 nvmlDeviceGetName");
  Control("mig 3 destroy");
  usleep(1'000'000);
  Control("mig 3 create 3g.40gb 3g.40gb");
  usleep(1'000'000);
  Control("unhang 5");
  ExpectTwoOfGpu3AndDivideItAgain(*plugin);
}

TEST_F(DevicePluginMig, SharesBesideMigAndAGpuThatFailsTakesItsDevicesAlone) {
  WriteConfig(
      "flags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: [{name: mig-1g.10gb, "
      "replicas: 2}]}}");
  const auto plugin =
      Start({"--config-file-srcdir=" + folder_ + "/config", "--default-config=any"});
  ASSERT_TRUE(kubelet_->WaitFor(kSmall, Count(112, 112))) << plugin->Log();
  Control("xid 2 48");
  EXPECT_TRUE(kubelet_->WaitFor(kSmall, Count(112, 98), seconds(1))) << plugin->Log();
  EXPECT_TRUE(kubelet_->WaitFor(kSmall, Count(112, 112), seconds(30))) << plugin->Log();
}

}  // namespace
}  // namespace gantry
