// SPDX-License-Identifier: Apache-2.0
// A driver that comes to a folder and goes from it: the kernel is of the test's own making, the
// compiler is a Makefile that copies.
#include "operands/driver/install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "host/watch.h"
#include "operands/driver/gather.h"
#include "operands/driver/modules.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kRelease[] = "6.1.0-50-amd64";

void Write(const std::string& path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(std::string root) : root_(std::move(root)) { Show(); }

  Status Load(const std::string& file, const std::string& parameters) override {
    const std::string name = ModuleOfFile(BaseName(file));
    calls.emplace_back(Trim("load " + name + " " + parameters));
    if (name == refused) {
      return Fail(ErrorKind::kInvalid, "load " + name + ": it was built for another kernel");
    }
    loaded.push_back(name);
    Write(Folder(name) + "/version", Trim(ReadFile(file).value()));
    Show();
    return {};
  }
  Status Unload(const std::string& module) override {
    calls.push_back("unload " + module);
    if (module == held) {
      return Fail(ErrorKind::kConflict, "unload " + module + ": it is in use");
    }
    std::erase(loaded, module);
    fs::remove_all(Folder(module));
    Show();
    return {};
  }
  Status Bind(const std::string& tree, const std::string& place) override {
    calls.push_back("bind");
    bound = tree + " at " + place.substr(root_.size());
    return {};
  }
  Status Unbind(const std::string& /*place*/) override {
    bound.clear();
    return {};
  }
  Status MakeDeviceNodes(const std::string& /*root*/) override {
    calls.emplace_back("nodes");
    return {};
  }

  std::vector<std::string> calls;
  std::vector<std::string> loaded;
  std::string bound;
  std::string refused;  // is not loaded
  std::string held;     // is not unloaded

 private:
  [[nodiscard]] std::string Folder(const std::string& module) const {
    return root_ + "/sys/module/" + module;
  }
  void Show() const {
    std::string text;
    for (const std::string& name : loaded) {
      text += name + " 16384 0 - Live 0x0000000000000000\n";
    }
    Write(root_ + "/proc/modules", text);
  }
  std::string root_;
};

class InstallTest : public testing::Test {
 protected:
  InstallTest() : kernel_(folder_ + "/root") {
    flags_.version = "535.247.01";
    flags_.kernel_release = kRelease;
    flags_.modules = {"nvidia", "nvidia-uvm", "nvidia-drm"};
    flags_.root = folder_ + "/root";
    flags_.sources = folder_ + "/src";
    flags_.precompiled = folder_ + "/precompiled";
    flags_.packages = folder_ + "/packages";
    flags_.cache = folder_ + "/cache";
    flags_.module_config = folder_ + "/drivers";
    flags_.user_space = folder_ + "/tree";
  }
  Status Try(int stop_fd = -1) { return Install(flags_, settings_, kernel_, stop_fd); }

  void Precompile(const std::string& release, const std::string& version = "535.247.01") {
    for (const char* name : {"nvidia", "nvidia-uvm", "nvidia-peermem"}) {
      Write(format("{}/{}/{}/proprietary/{}.ko", flags_.precompiled, release, version, name),
            version);
    }
  }

  // Sources whose `modules` runs those commands, and headers for them. "Compiled" is counted.
  void Sources(const std::string& commands = "cp nv.c nvidia.ko") {
    Write(flags_.sources + "/nvidia-535.247.01/nv.c", "535.247.01");
    Write(flags_.sources + "/nvidia-535.247.01/Makefile",
          format("modules:\n\t@test -f $(SYSSRC)/Makefile -a -f $(SYSOUT)/Makefile\n\t@echo x >> "
                 "{}/compiled\n\t@{}\n",
                 folder_, commands));
    Write(format("{}/usr/src/linux-headers-{}/Makefile", flags_.root, kRelease), "");
  }
  [[nodiscard]] size_t Compiled() const {
    const std::string lines = ReadFile(folder_ + "/compiled").value_or("");
    return static_cast<size_t>(std::ranges::count(lines, '\n'));
  }

  [[nodiscard]] std::string Ready() const {
    return ReadFile(flags_.root + "/run/nvidia/validations/.driver-ctr-ready").value_or("none");
  }

  void Process(const std::string& pid, const std::string& name, const std::string& device) {
    const std::string process = flags_.root + "/proc/" + pid;
    Write(process + "/comm", name + "\n");
    Write(process + "/cgroup", "0::/kubepods/pod0a1b2c3d-1111-2222-3333-444455556666/7\n");
    fs::create_directories(process + "/fd");
    fs::create_symlink(device, process + "/fd/3");
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  Flags flags_;
  Settings settings_;
  FakeKernel kernel_;
};

TEST_F(InstallTest, PrecompiledModulesComeInOrderAndGoBackwards) {
  Precompile(kRelease);
  Write(flags_.module_config + "/nvidia.conf", "NVreg_A=1\nNVreg_B=2\n");
  Write(flags_.module_config + "/gridd.conf", "\"not for us\n");
  settings_ = {.digest = "123", .gdrcopy = false, .gds = true, .rdma = false};
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.calls,
              ElementsAre("bind", "load nvidia NVreg_A=1 NVreg_B=2", "load nvidia_uvm", "nodes"));
  EXPECT_EQ(kernel_.bound, flags_.user_space + " at /run/nvidia/driver");
  EXPECT_EQ(Ready(), "GDRCOPY_ENABLED: false\nGDS_ENABLED: true\nGPU_DIRECT_RDMA_ENABLED: false\n");
  EXPECT_EQ(ReadFile(StateFile(flags_)).value(), "123");

  kernel_.calls.clear();
  ASSERT_TRUE(Uninstall(flags_, kernel_).has_value());
  EXPECT_THAT(kernel_.calls, ElementsAre("unload nvidia_uvm", "unload nvidia"));
  EXPECT_EQ(kernel_.bound, "");
  EXPECT_EQ(Ready(), "none");
  EXPECT_FALSE(fs::exists(StateFile(flags_)));
}

TEST_F(InstallTest, NothingIsCompiledTwice) {
  Sources();
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia"));
  ASSERT_TRUE(Uninstall(flags_, kernel_).has_value());
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(Compiled(), 1U);
  // Other sources are something else.
  Write(flags_.sources + "/nvidia-535.247.01/nv.c", "535.247.01\n");
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(Compiled(), 2U);
  // The sources stay as they are.
  EXPECT_THAT(ListDirectory(flags_.sources + "/nvidia-535.247.01").value(), SizeIs(2));
}

TEST_F(InstallTest, AnInterruptedCompileLeavesNothingThatCounts) {
  Sources("cp nv.c nvidia.ko; sleep 30");
  host::StopEvent stop;
  std::thread soon([&] {
    for (int i = 0; i < 500 && Compiled() == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop.Stop();
  });
  const Status stopped = Try(stop.fd());
  soon.join();
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(kernel_.calls, IsEmpty());
  EXPECT_THAT(ModuleFiles(flags_.cache), IsEmpty());

  // What a killed one leaves is not taken for a module, and goes.
  Write(flags_.cache + "/.unfinished-x/nvidia.ko", "half");
  Sources();
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(Compiled(), 2U);
  EXPECT_FALSE(fs::exists(flags_.cache + "/.unfinished-x"));
}

// Debian's headers of a flavour lie beside those of all; both are found behind the node's links.
TEST_F(InstallTest, DebiansHeadersAreTwoFolders) {
  const std::string usr_src = flags_.root + "/usr/src";
  Write(usr_src + "/linux-headers-6.1.0-50-common/Makefile", "");
  Write(format("{}/linux-headers-{}/Makefile", usr_src, kRelease),
        "include /usr/src/linux-headers-6.1.0-50-common/Makefile\n");
  const std::string modules = format("{}/lib/modules/{}", flags_.root, kRelease);
  fs::create_directories(modules);
  fs::create_symlink(format("/usr/src/linux-headers-{}", kRelease), modules + "/build");
  const InstallFacts facts = GatherFacts(flags_, "");
  EXPECT_EQ(facts.headers, (KernelHeaders{usr_src + "/linux-headers-6.1.0-50-common",
                                          format("{}/linux-headers-{}", usr_src, kRelease)}));
  EXPECT_EQ(KernelModulesFolder(flags_), modules);
}

TEST_F(InstallTest, CompilesWhereThePackageIsForAnotherKernel) {
  Precompile("6.1.0-49-amd64");
  const Status missing = Try();
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(missing.error().message,
              HasSubstr("no package of modules 6.1.0-50-amd64/535.247.01/proprietary or open"));
  EXPECT_THAT(missing.error().message, HasSubstr("there: 6.1.0-49-amd64/535.247.01/proprietary"));
  EXPECT_THAT(missing.error().message, HasSubstr("no headers of kernel 6.1.0-50-amd64"));
  Sources();
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(Compiled(), 1U);

  flags_.precompiled_use = Precompiled::kOnly;
  EXPECT_FALSE(Try().has_value());
  Precompile(kRelease);
  EXPECT_TRUE(Try().has_value());
  EXPECT_EQ(Compiled(), 1U);
}

TEST_F(InstallTest, WhatDoesNotCompileSaysDriverKernelAndTheFirstError) {
  Sources("echo \"$(CURDIR)/nv.c:3:1: error: unknown type name 'x'\" >&2; exit 1");
  const Status failed = Try();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(failed.error().message,
              HasSubstr("compile driver 535.247.01 (proprietary) for kernel 6.1.0-50-amd64: "
                        "nv.c:3:1: error: unknown type name 'x' (the whole log: "));
  const std::string log = failed.error().message.substr(failed.error().message.find(folder_));
  EXPECT_THAT(ReadFile(log.substr(0, log.size() - 1)).value(), HasSubstr("*** "));
  EXPECT_THAT(kernel_.calls, IsEmpty());
  EXPECT_EQ(Ready(), "none");
}

TEST_F(InstallTest, AModuleThatIsRefusedTakesTheOthersBack) {
  Precompile(kRelease);
  kernel_.refused = "nvidia_uvm";
  const Status failed = Try();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "load nvidia_uvm: it was built for another kernel");
  EXPECT_THAT(kernel_.loaded, IsEmpty());
  EXPECT_EQ(kernel_.bound, "");
  EXPECT_EQ(Ready(), "none");
}

TEST_F(InstallTest, AnEarlierDriverGoesFirstUnlessSomebodyHoldsIt) {
  Precompile(kRelease, "525.1.1");
  flags_.version = "525.1.1";
  ASSERT_TRUE(Try().has_value());
  Precompile(kRelease);
  flags_.version = "535.247.01";
  Process("812", "python", "/dev/nvidia0");
  kernel_.calls.clear();
  const Status held = Try();
  ASSERT_FALSE(held.has_value());
  EXPECT_EQ(held.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(held.error().message,
            "unload the driver: it is in use by process 812 (python, /dev/nvidia0, pod "
            "0a1b2c3d-1111-2222-3333-444455556666)");
  EXPECT_THAT(kernel_.calls, IsEmpty());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia", "nvidia_uvm"));

  fs::remove_all(flags_.root + "/proc/812");
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.calls, ElementsAre("unload nvidia_uvm", "unload nvidia", "bind",
                                         "load nvidia", "load nvidia_uvm", "nodes"));
  EXPECT_EQ(ReadFile(flags_.root + "/sys/module/nvidia/version").value(), "535.247.01");
}

TEST_F(InstallTest, ADriverThatIsHeldAtTheEndStays) {
  Precompile(kRelease);
  ASSERT_TRUE(Try().has_value());
  Process("9", "smi", "/dev/nvidiactl");
  const Status held = Uninstall(flags_, kernel_);
  ASSERT_FALSE(held.has_value());
  EXPECT_EQ(held.error().kind, ErrorKind::kConflict);
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia", "nvidia_uvm"));
  EXPECT_NE(kernel_.bound, "");
  EXPECT_EQ(Ready(), "none");
}

TEST_F(InstallTest, TheSameDriverWithTheSameSettingsIsNotLoadedAgain) {
  Precompile(kRelease);
  settings_.digest = "1";
  ASSERT_TRUE(Try().has_value());
  Process("812", "python", "/dev/nvidia0");
  kernel_.calls.clear();
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.calls, ElementsAre("bind", "nodes"));
  settings_.digest = "2";
  EXPECT_FALSE(Try().has_value());
}

TEST_F(InstallTest, ADriverOfWhichOnlySomeModulesWereUnloadedIsNotWhole) {
  Precompile(kRelease);
  settings_.digest = "1";
  ASSERT_TRUE(Try().has_value());
  kernel_.held = "nvidia";
  EXPECT_FALSE(Uninstall(flags_, kernel_).has_value());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia"));
  EXPECT_FALSE(fs::exists(StateFile(flags_)));
  kernel_.held.clear();
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia", "nvidia_uvm"));
}

TEST_F(InstallTest, ADriverThatDoesNotGoAtAllIsWhole) {
  Precompile(kRelease);
  settings_.digest = "1";
  ASSERT_TRUE(Try().has_value());
  kernel_.held = "nvidia_uvm";
  EXPECT_FALSE(Uninstall(flags_, kernel_).has_value());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia", "nvidia_uvm"));
  EXPECT_EQ(ReadFile(StateFile(flags_)).value_or(""), "1");
}

// Somebody has unloaded all of it by hand.
TEST_F(InstallTest, WhatIsNotLoadedAnyMoreLeavesNoState) {
  Write(StateFile(flags_), "1");
  ASSERT_TRUE(UnloadModules(flags_, kernel_).has_value());
  EXPECT_FALSE(fs::exists(StateFile(flags_)));
}

TEST_F(InstallTest, AModuleOfSomebodyElseOnTopIsNamed) {
  Precompile(kRelease);
  ASSERT_TRUE(Try().has_value());
  Write(flags_.root + "/proc/modules", "other 1 0 - Live 0x0\nnvidia 1 1 other, Live 0x0\n");
  kernel_.calls.clear();
  EXPECT_EQ(UnloadModules(flags_, kernel_).error().message,
            "unload the driver: the module other uses it");
  EXPECT_THAT(kernel_.calls, IsEmpty());
}

TEST_F(InstallTest, PeermemIsLoadedBesideTheDriver) {
  Precompile(kRelease);
  ASSERT_TRUE(LoadPeermem(flags_, kernel_, -1).has_value());
  EXPECT_THAT(kernel_.calls, ElementsAre("load nvidia_peermem"));
}

TEST_F(InstallTest, TheKernelIsToldWhereTheFirmwareIs) {
  Precompile(kRelease);
  const std::string path = flags_.root + "/sys/module/firmware_class/parameters/path";
  Write(path, "\n");
  flags_.firmware = folder_ + "/firmware";
  Write(flags_.firmware + "/nvidia/535.247.01/gsp.bin", "g");
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(ReadFile(path).value(), "/run/nvidia/driver/lib/firmware");
  EXPECT_EQ(ReadFile(flags_.user_space + "/lib/firmware/nvidia/535.247.01/gsp.bin").value(), "g");
  Write(path, "/somewhere\n");
  ASSERT_TRUE(Try().has_value());
  EXPECT_EQ(ReadFile(path).value(), "/somewhere\n");
}

// A .deb is unpacked once.
TEST_F(InstallTest, APackageIsUnpackedIntoTheCache) {
  const std::string tree = folder_ + "/deb";
  Write(tree + "/DEBIAN/control",
        "Package: nvidia-modules\nVersion: 535.247.01-1\nArchitecture: all\nMaintainer: x <x@y.z>\n"
        "Description: modules\n");
  Write(format("{}/lib/modules/{}/updates/nvidia.ko", tree, kRelease), "535.247.01");
  fs::create_directories(flags_.packages);
  const std::string made = format("dpkg-deb -b {} {}/m.deb > /dev/null", tree, flags_.packages);
  ASSERT_EQ(std::system(made.c_str()), 0);
  ASSERT_TRUE(Try().has_value());
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia"));
  EXPECT_THAT(ModuleFiles(flags_.cache), SizeIs(1));
}

// NVIDIA's installer, as far as it is asked: it unpacks itself, and its program installs libraries.
TEST_F(InstallTest, ARunfileIsUnpackedAndCompiledAndInstallsItsLibraries) {
  Sources();
  fs::remove_all(flags_.sources);
  settings_.digest = "1";
  const std::string run = folder_ + "/driver.run";
  Write(run, format("[ \"$1\" = --extract-only ] && [ \"$2\" = --target ] || exit 3\n"
                    "mkdir -p $3/kernel && echo 535.247.01 > $3/kernel/nv.c\n"
                    "printf 'modules:\\n\\tcp nv.c nvidia.ko\\n' > $3/kernel/Makefile\n"
                    "printf '#!/bin/sh\\necho \"$@\" > {}/installed\\n' > $3/nvidia-installer\n"
                    "chmod +x $3/nvidia-installer\n",
                    folder_));
  flags_.runfile = run;
  const Status done = Try();
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_THAT(kernel_.loaded, ElementsAre("nvidia"));
  EXPECT_THAT(ReadFile(folder_ + "/installed").value(), HasSubstr("--silent --no-kernel-module"));

  // A container that starts anew has none of them in its root, though the driver is still loaded.
  fs::remove(folder_ + "/installed");
  kernel_.calls.clear();
  ASSERT_TRUE(Try().has_value());
  EXPECT_TRUE(fs::exists(folder_ + "/installed"));
  EXPECT_THAT(kernel_.calls, ElementsAre("bind", "nodes"));
}

TEST_F(InstallTest, AnInstallerThatFailsIsTriedSoonAgain) {
  Sources();
  fs::remove_all(flags_.sources);
  flags_.runfile = folder_ + "/driver.run";
  Write(flags_.runfile, "echo 'error: no space' >&2; exit 1\n");
  const Status failed = Try();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("no space"));
}

}  // namespace
}  // namespace gantry::driver
