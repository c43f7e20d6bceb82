// SPDX-License-Identifier: Apache-2.0
// The validator as a process, over a host root of files; the driver itself is not asked.
#include "operands/validator/validator.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "container/cdi.h"
#include "host/status_files.h"
#include "host/watch.h"
#include "operands/validator/stage.h"
#include "operands/validator/testing/no_inotify.h"
#include "operands/validator/toolkit_files.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ValidatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "device nodes can be made by root only";
    }
    std::string name = fs::temp_directory_path() / "gantry-validator-XXXXXX";
    root_ = mkdtemp(name.data());
    status_ = root_ / "status";
    MakeNode("host/dev/nvidiactl");
    MakeNode("host/dev/nvidia-uvm");
    MakeNode("host/dev/nvidia0");
    MakeFile("host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01", "a library");
    fs::create_symlink("libnvidia-ml.so.535.247.01",
                       root_ / "host/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1");
    MakeFile("host/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Thu\n");
  }
  void TearDown() override {
    Stop();
    if (!root_.empty()) {
      fs::remove_all(root_);
    }
  }

  void MakeFile(const std::string& path, const std::string& text, mode_t mode = 0644) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    chmod((root_ / path).c_str(), mode);
  }
  void MakeNode(const std::string& path) const {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_EQ(mknod((root_ / path).c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  }
  void InstallToolkit() const {
    container::CdiSpec spec;
    spec.kind = names::kManagementCdiKind;
    spec.devices.push_back({.name = "all", .edits = {}});
    spec.devices[0].edits.device_nodes.push_back({.path = "/dev/nvidia0", .host_path = ""});
    fs::create_directories(root_ / "host/usr/local/nvidia/toolkit");
    fs::copy_file("/bin/true", root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook");
    MakeFile("host/var/run/cdi/management.nvidia.com-gpu.yaml", container::CdiText(spec));
  }

  int Run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"nvidia-validator", "--host-root-mount", root_ / "host", "--output-dir", status_,
                  "--driver-validation-skip-gpu-init", "--dev-char-dir", root_ / "char"});
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    return RunValidator(static_cast<int>(argv.size()), argv.data());
  }
  void Start(const std::vector<std::string>& words) {
    child_ = fork();
    if (child_ == 0) {
      _exit(Run(words));
    }
  }
  int Stop() {
    int status = -1;
    if (child_ > 0) {
      kill(child_, SIGTERM);
      waitpid(child_, &status, 0);
      child_ = -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Waits until the status file is there (or gone).
  [[nodiscard]] bool Becomes(const std::string& name, bool there,
                             milliseconds limit = milliseconds(3000)) const {
    host::Watcher watcher = *host::Watcher::Create();
    EXPECT_TRUE(watcher.Add(status_));
    const auto deadline = steady_clock::now() + limit;
    const host::StatusFiles files = *host::StatusFiles::Open(status_);
    while (files.Read(name).has_value() != there) {
      if (watcher.Next(-1, deadline).changed.empty()) {
        return false;
      }
    }
    return true;
  }

  fs::path root_;
  std::string status_;
  pid_t child_ = -1;
};

TEST_F(ValidatorTest, HooksOfADocumentThatAreNotOnTheHost) {
  const std::string host = root_ / "host";
  const std::string path = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json";
  EXPECT_TRUE(MissingHooks(host, path).empty()) << "no document";
  container::CdiSpec spec;
  spec.kind = names::kDevicePluginCdiKind;
  spec.edits.hooks.push_back({"createContainer", "/usr/bin/nvidia-ctk", {"nvidia-ctk"}, {}});
  spec.devices.push_back({.name = "0", .edits = {}});
  spec.devices[0].edits.hooks.push_back({"createContainer", "/usr/bin/other", {"other"}, {}});
  MakeFile("host" + path, container::CdiText(spec));
  EXPECT_EQ(MissingHooks(host, path),
            (std::vector<std::string>{"/usr/bin/nvidia-ctk", "/usr/bin/other"}));
  MakeFile("host/usr/bin/nvidia-ctk", "", 0755);
  EXPECT_EQ(MissingHooks(host, path), std::vector<std::string>{"/usr/bin/other"});
  MakeFile("host" + path, "{");
  EXPECT_TRUE(MissingHooks(host, path).empty()) << "it can't be read";
}

TEST_F(ValidatorTest, OneComponentAsAProcess) {
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  EXPECT_TRUE(Becomes("driver-ready", true));
  EXPECT_EQ(Run({"--component", "toolkit"}), 1);
  EXPECT_FALSE(fs::exists(fs::path(status_) / "toolkit-ready"));
  InstallToolkit();
  EXPECT_EQ(Run({"--component", "toolkit"}), 0);
  EXPECT_EQ(Run({"--component", "fortune"}), 1);
}

TEST_F(ValidatorTest, ToolkitReadyComesWithItsLastFile) {
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  InstallToolkit();
  const auto installed = steady_clock::now();
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  const auto took =
      std::chrono::duration_cast<milliseconds>(steady_clock::now() - installed).count();
  RecordProperty("toolkit_ready_ms", static_cast<int>(took));
  EXPECT_LT(took, 200);
}

TEST_F(ValidatorTest, WhatTheToolkitSaysOfTheRuntimeCounts) {
  InstallToolkit();
  const fs::path link = root_ / "host/usr/local/nvidia/toolkit/nvidia-container-runtime";
  fs::create_symlink("nvidia-cdi-hook", link);
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  MakeFile("status/.toolkit-failed", "MESSAGE=line 7: no key\nSERVES=false\n");
  EXPECT_TRUE(Becomes("toolkit-ready", false));
  MakeFile("status/.toolkit-failed", "MESSAGE=line 7: no key\nSERVES=true\n");
  EXPECT_TRUE(Becomes("toolkit-ready", true)) << "the runtime works as before";
  MakeFile("status/.toolkit-failed", "MESSAGE=line 7: no key\n");
  EXPECT_TRUE(Becomes("toolkit-ready", false));
  // NVIDIA's toolkit takes its place: each of its programs is a file.
  fs::remove(link);
  MakeFile("host/usr/local/nvidia/toolkit/nvidia-container-runtime", "#!/bin/sh\n", 0755);
  EXPECT_TRUE(Becomes("toolkit-ready", true));
}

TEST_F(ValidatorTest, ADocumentThatIsNotWantedIsNotMissed) {
  InstallToolkit();
  fs::create_symlink("nvidia-cdi-hook",
                     root_ / "host/usr/local/nvidia/toolkit/nvidia-container-runtime");
  const fs::path document = root_ / "host/var/run/cdi/management.nvidia.com-gpu.yaml";
  const std::string text = ReadFile(document).value();
  fs::remove(document);
  EXPECT_EQ(Run({"--component", "toolkit"}), 1);
  MakeFile("status/.toolkit-cdi", "MANAGEMENT=\n");
  EXPECT_EQ(Run({"--component", "toolkit"}), 0);
  MakeFile("status/.toolkit-cdi", "MANAGEMENT=/etc/cdi/management.yaml\n");
  EXPECT_EQ(Run({"--component", "toolkit"}), 1);
  MakeFile("host/etc/cdi/management.yaml", text);
  EXPECT_EQ(Run({"--component", "toolkit"}), 0);
}

// NVIDIA's toolkit installed shell scripts before 1.20.
TEST_F(ValidatorTest, AScriptOfTheHostIsNotRunHere) {
  InstallToolkit();
  MakeFile("host/usr/local/nvidia/toolkit/nvidia-cdi-hook", "#!/of/the/host\n", 0755);
  EXPECT_EQ(Run({"--component", "toolkit"}), 0);
  MakeFile("host/usr/local/nvidia/toolkit/nvidia-cdi-hook", "no program", 0755);
  EXPECT_EQ(Run({"--component", "toolkit"}), 1);
}

TEST_F(ValidatorTest, AProgramThatIsBusyIsTriedAgain) {
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  InstallToolkit();
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  const std::string hook = root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook";
  fs::remove(hook);
  ASSERT_TRUE(Becomes("toolkit-ready", false));
  fs::copy_file("/bin/true", hook + ".new");
  const int busy = open((hook + ".new").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  fs::rename(hook + ".new", hook);
  EXPECT_FALSE(Becomes("toolkit-ready", true, milliseconds(100)));
  close(busy);
  EXPECT_TRUE(Becomes("toolkit-ready", true));
}

TEST_F(ValidatorTest, WhatIsNoLongerTrueIsTakenBackAndComesAgain) {
  InstallToolkit();
  Start({"--with-plugin", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  fs::remove(root_ / "host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", false));
  MakeNode("host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  EXPECT_TRUE(Becomes("toolkit-ready", false));
  InstallToolkit();
  EXPECT_TRUE(Becomes("toolkit-ready", true));
}

// op#2685: the node was said to be ready while nvidia-uvm's nodes were missing, and was not looked
// at again after the driver had changed.
TEST_F(ValidatorTest, Op2685_NotReadyWithoutUvmOrWithAGpuThatHasNoNode) {
  MakeFile("host/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Device Minor: \t 0\n");
  MakeFile("host/proc/driver/nvidia/gpus/0000:af:00.0/information", "Device Minor: \t 1\n");
  MakeNode("host/dev/nvidia1");
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_EQ(Run({"--component", "driver"}), 1);
  MakeNode("host/dev/nvidia-uvm");
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_TRUE(Becomes("driver-ready", false));
  MakeNode("host/dev/nvidia-uvm");
  EXPECT_TRUE(Becomes("driver-ready", true));
  fs::remove(root_ / "host/dev/nvidia1");
  EXPECT_TRUE(Becomes("driver-ready", false));
}

TEST_F(ValidatorTest, Op2685_ADriverContainerThatIsMadeAnewIsLookedAtAgain) {
  fs::remove_all(root_ / "host/usr");
  const std::string library =
      "host/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.247.01";
  const auto bring = [&] {
    MakeFile(library, "a library");
    fs::create_symlink("libnvidia-ml.so.535.247.01",
                       (root_ / library).parent_path() / "libnvidia-ml.so.1");
    MakeFile("status/.driver-ctr-ready", "GDRCOPY_ENABLED: true\n");
  };
  bring();
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  // Its pod ends: preStop takes the mark, the mount goes.
  fs::remove(fs::path(status_) / ".driver-ctr-ready");
  EXPECT_TRUE(Becomes("driver-ready", false));
  fs::remove_all(root_ / "host/run/nvidia/driver");
  bring();
  EXPECT_TRUE(Becomes("driver-ready", true));
}

TEST_F(ValidatorTest, ControlNodesThatAreMissingAreMade) {
  MakeFile("host/proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  fs::remove(root_ / "host/dev/nvidiactl");
  fs::remove(root_ / "host/dev/nvidia-uvm");
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  struct stat node{};
  ASSERT_EQ(stat((root_ / "host/dev/nvidia-uvm").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(511, 0));
  EXPECT_EQ(node.st_mode & 07777, 0666);
  ASSERT_EQ(stat((root_ / "host/dev/nvidiactl").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(195, 255));
}

// op#2685: they were made, and looked for, in the /dev of the host alone.
TEST_F(ValidatorTest, Op2685_ADriverContainersOwnDevGetsItsNodes) {
  fs::remove_all(root_ / "host/usr");
  MakeFile("host/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1", "a library");
  MakeFile("host/proc/devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  MakeNode("host/run/nvidia/driver/dev/nvidia0");
  MakeFile("status/.driver-ctr-ready", "");
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  struct stat node{};
  ASSERT_EQ(stat((root_ / "host/run/nvidia/driver/dev/nvidia-uvm").c_str(), &node), 0);
  EXPECT_EQ(node.st_rdev, makedev(511, 0));
}

// nct#1227: systemd finds device nodes through /dev/char when it sets a container's rules again.
TEST_F(ValidatorTest, Nct1227_EveryDeviceNodeHasItsLinkInDevChar) {
  const auto make = [this](const std::string& path, unsigned minor) {
    fs::remove(root_ / path);
    fs::create_directories((root_ / path).parent_path());
    ASSERT_EQ(mknod((root_ / path).c_str(), S_IFCHR | 0666, makedev(195, minor)), 0);
  };
  make("host/dev/nvidia0", 0);
  make("host/dev/nvidia-caps/nvidia-cap1", 1);
  fs::create_directories(root_ / "char");
  fs::create_symlink("/dev/old", root_ / "char/195:1");
  EXPECT_EQ(Run({"--component", "driver", "--disable-dev-char-symlink-creation"}), 0);
  EXPECT_FALSE(fs::is_symlink(root_ / "char/195:0"));
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  EXPECT_EQ(fs::read_symlink(root_ / "char/195:0"), "/dev/nvidia0");
  EXPECT_EQ(fs::read_symlink(root_ / "char/195:1"), "/dev/nvidia-caps/nvidia-cap1");
}

// As on Container-Optimized OS, where the provider's installer fills that folder.
TEST_F(ValidatorTest, ADriverThatNoContainerOfOursBringsNeedsNoMark) {
  fs::remove_all(root_ / "host/usr");
  MakeFile("host/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1", "a library");
  const std::vector<std::string> words = {"--component", "driver", "--driver-install-dir",
                                          "/home/kubernetes/bin/nvidia"};
  EXPECT_EQ(Run(words), 1) << "a container may be at it still";
  std::vector<std::string> alone = words;
  alone.insert(alone.end(), {"--with-driver-container", "false"});
  EXPECT_EQ(Run(alone), 0);
}

TEST_F(ValidatorTest, ModulesAreComponents) {
  MakeFile("host/proc/modules",
           "gdrdrv 24576 0 - Live 0x0000000000000000\n"
           "nvidia_fs 24576 0 - Unloading 0x0000000000000000\n");
  EXPECT_EQ(Run({"--component", "gdrcopy"}), 0);
  EXPECT_TRUE(fs::exists(fs::path(status_) / "gdrcopy-ready"));
  EXPECT_EQ(Run({"--component", "nvidia-fs"}), 1);
  EXPECT_EQ(Run({"--component", "nvidia-peermem"}), 1);
  EXPECT_EQ(Run({"--component", "mofed"}), 0) << "not asked for: nothing to check";
  EXPECT_FALSE(fs::exists(fs::path(status_) / "mofed-ready"));
}

TEST_F(ValidatorTest, WhatTheDriversContainerBringsIsChecked) {
  MakeFile("host/proc/modules", "gdrdrv 24576 0 - Live 0x0000000000000000\n");
  MakeFile("status/.driver-ctr-ready", "GDRCOPY_ENABLED: true\nGDS_ENABLED: true\n");
  EXPECT_EQ(Run({"--component", "driver"}), 1) << "nvidia-fs is not loaded";
  EXPECT_TRUE(fs::exists(fs::path(status_) / "driver-ready"));
  fs::remove_all(status_);
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  EXPECT_FALSE(fs::exists(fs::path(status_) / "gdrcopy-ready"));
  MakeFile("status/.driver-ctr-ready", "GDRCOPY_ENABLED: true\nGDS_ENABLED: false\n");
  EXPECT_TRUE(Becomes("gdrcopy-ready", true));
  EXPECT_FALSE(fs::exists(fs::path(status_) / "nvidia-fs-ready"));
}

TEST_F(ValidatorTest, ComponentsOfVirtualMachinesAskForTheNode) {
  EXPECT_EQ(Run({"--component", "vfio-pci"}), 1);
  EXPECT_EQ(Run({"--component", "metrics", "--node-name", "n"}), 1) << "no port";
  Flags flags;
  flags.output_dir = status_;
  flags.host_root_here = root_ / "host";
  const host::StatusFiles files = *host::StatusFiles::Open(status_);
  const Site site(flags, files);
  fs::create_directories(status_);
  const auto judge = [&](const std::string& component, const std::string& workload) {
    const auto stage = SandboxStage(site, component, {{names::kWorkloadConfig, workload}});
    return stage->LookAt(true).finding.value_or(Finding());
  };
  const std::string gpu = "host/sys/bus/pci/devices/0000:3b:00.0/";
  MakeFile(gpu + "vendor", "0x10de\n");
  MakeFile(gpu + "device", "0x20b5\n");
  MakeFile(gpu + "class", "0x030200\n");
  EXPECT_EQ(judge("vfio-pci", "vm-passthrough").reason, "GpuNotBoundToVfio");
  fs::create_directories(root_ / "host/sys/bus/pci/drivers/vfio-pci");
  fs::create_symlink("../../drivers/vfio-pci", root_ / (gpu + "driver"));
  EXPECT_EQ(judge("vfio-pci", "vm-passthrough").state, Finding::State::kReady);
  std::string workload;
  std::getline(std::ifstream(fs::path(status_) / "workload-type"), workload);
  EXPECT_EQ(workload, "vm-passthrough");
  EXPECT_EQ(judge("vgpu-devices", "vm-vgpu").reason, "NoVgpuDevices");
  MakeFile("host/sys/bus/mdev/devices/4b20d080/name", "GRID\n");
  EXPECT_EQ(judge("vgpu-devices", "vm-vgpu").state, Finding::State::kReady);
  EXPECT_EQ(judge("vgpu-manager", "vm-vgpu").reason, "VgpuManagerFails");
  EXPECT_EQ(site.Sys(), root_ / "host/sys");
  fs::remove_all(root_ / "host/sys");
  EXPECT_EQ(site.Sys(), "/sys") << "nothing of the host is mounted for vgpu-devices";
  const auto cc = SandboxStage(site, "cc-manager", {{names::kCcCapable, "true"}});
  EXPECT_EQ(cc->LookAt(true).finding->reason, "CcManagerNotReady");
  MakeFile("status/.cc-manager-ctr-ready", "");
  EXPECT_EQ(cc->LookAt(true).finding->state, Finding::State::kReady);
}

// Reads what a server on this machine answers.
std::string Fetch(int port, const std::string& path) {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int tries = 0; tries < 200; ++tries) {
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
      send(fd.get(), request.data(), request.size(), 0);
      return ReadDescriptor(fd.get(), "answer").value_or("");
    }
    usleep(20000);
  }
  return "";
}

TEST_F(ValidatorTest, MetricsSayWhatIsTrueAtThisMoment) {
  EXPECT_EQ(Run({"--component", "driver"}), 0);
  MakeFile("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  MakeFile("sys/bus/pci/devices/0000:3b:00.0/device", "0x20b5\n");
  MakeFile("sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  const int port = 20000 + static_cast<int>(getpid() % 10000);
  Start({"--component", "metrics", "--node-name", "gpu-1", "--metrics-port", std::to_string(port),
         "--host-sys", root_ / "sys"});
  std::string metrics = Fetch(port, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("gpu_operator_node_driver_ready{node=\"gpu-1\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("gpu_operator_nvidia_pci_devices_total{node=\"gpu-1\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("last_success_ts_seconds{node=\"gpu-1\"} 1"));
  fs::remove(fs::path(status_) / "driver-ready");
  metrics = Fetch(port, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("gpu_operator_node_driver_ready{node=\"gpu-1\"} 0"));
}

TEST_F(ValidatorTest, AStatusFileThatSomebodyTookAwayComesBack) {
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  fs::rename(status_, root_ / "taken");
  EXPECT_TRUE(Becomes("driver-ready", true));
}

// A node's programs share few inotify instances (fs.inotify.max_user_instances).
TEST_F(ValidatorTest, WithoutInotifyTheNodeIsLookedAt) {
  InstallToolkit();
  child_ = fork();
  if (child_ == 0) {
    RefuseInotify();
    _exit(Run({"--with-plugin", "false", "--sleep-interval-seconds", "1"}));
  }
  ASSERT_TRUE(Becomes("driver-ready", true));
  ASSERT_TRUE(Becomes("toolkit-ready", true));
  fs::remove(root_ / "host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", false));
  MakeNode("host/dev/nvidiactl");
  EXPECT_TRUE(Becomes("driver-ready", true));
  fs::remove(fs::path(status_) / "driver-ready");
  EXPECT_TRUE(Becomes("driver-ready", true)) << "somebody took it away";
}

TEST_F(ValidatorTest, ATerminationTakesNothingBack) {
  Start({"--with-plugin", "false", "--with-toolkit", "false"});
  ASSERT_TRUE(Becomes("driver-ready", true));
  EXPECT_EQ(Stop(), 0);
  EXPECT_TRUE(fs::exists(fs::path(status_) / "driver-ready"));
}

}  // namespace
}  // namespace gantry::validator

// A validator starts its own program for its probes, "nvidia-validator --probe ...": in these tests
// that is this one.
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--probe") {
      return gantry::validator::RunValidator(argc - 1, argv + 1);
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
