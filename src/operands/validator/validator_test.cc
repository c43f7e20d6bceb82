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
#include "operands/validator/testing/validator_process.h"
#include "operands/validator/toolkit_files.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(Run({"--component", "vfio-pci"}), 2);
  EXPECT_EQ(Run({"--component", "metrics", "--node-name", "n"}), 2) << "no port";
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
  EXPECT_TRUE(Becomes("driver-ready", true)) << "another program removed it";
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
