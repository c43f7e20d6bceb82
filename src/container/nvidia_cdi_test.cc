// SPDX-License-Identifier: Apache-2.0
// From a driver root to CDI documents: tests/golden/cdi holds what a small driver root gives. With
// GANTRY_ACCEPT=1 the expected files are written anew. The test makes device nodes, so it needs
// root.
#include "container/nvidia_cdi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "elf/library_cache.h"
#include "policy/names.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kCdiGolden[] = "tests/golden/cdi/";
constexpr char kVersion[] = "535.247.01";

void Compare(const std::string& name, const std::string& text) {
  const std::string path = kCdiGolden + name;
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    fs::create_directories(kCdiGolden);
    std::ofstream(path) << text;
  }
  EXPECT_EQ(ReadFile(path).value_or("(absent)"), text) << path;
}

class NvidiaCdiTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = "/usr/lib/x86_64-linux-gnu/";
    fs::create_directories(root_ + "/usr/lib/x86_64-linux-gnu/vdpau");
    Library(folder, "libcuda.so", "libcuda.so.1");
    Library(folder, "libnvidia-ml.so", "libnvidia-ml.so.1");
    Library(folder, "libnvidia-opencl.so", "libnvidia-opencl.so.1");
    Library(folder + "vdpau/", "libvdpau_nvidia.so", "libvdpau_nvidia.so.1");
    fs::create_symlink("libcuda.so.1", root_ + folder + "libcuda.so");
    fs::create_symlink(std::string("libcuda.so.") + kVersion, root_ + folder + "libcuda.so.1");
    Put(folder + "libz.so.1.2.13");
    fs::create_symlink("usr/lib", root_ + "/lib");
    Put("/usr/lib/nvidia/current/nvidia-smi");
    fs::create_directories(root_ + "/usr/bin");
    fs::create_symlink("/usr/lib/nvidia/current/nvidia-smi", root_ + "/usr/bin/nvidia-smi");
    Put("/usr/share/nvidia/nvoptix.bin");
    Put("/etc/OpenCL/vendors/nvidia.icd");
    Put(std::string("/usr/lib/firmware/nvidia/") + kVersion + "/gsp_ga10x.bin");
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                             "nvidia-modeset", "nvidia-fs0", "nvidia-nvswitchctl"}) {
      Node(std::string("/dev/") + name);
    }
    Node("/dev/nvidia-caps/nvidia-cap1");
    Node("/dev/dri/card1");
    Node("/dev/dri/renderD128");
    fs::create_directories(root_ + "/sys/bus/pci/devices/0000:01:00.0/drm/card1");
    fs::create_directories(root_ + "/sys/bus/pci/devices/0000:01:00.0/drm/renderD128");
    fs::create_directories(root_ + "/run/nvidia-persistenced");
    Put("/run/nvidia-persistenced/socket");

    input_.driver.root = root_;
    input_.driver.dev_root = root_;
    input_.driver.sys_root = root_;
    input_.driver.run_root = root_;
    input_.kind = names::kDevicePluginCdiKind;
    input_.hook = {"/usr/local/nvidia/toolkit/nvidia-cdi-hook", true};
    input_.gpus = {{"GPU-1", 0, 0, "0000:01:00.0", {}}, {"GPU-2", 1, 1, "0000:02:00.0", {}}};
  }

  void Put(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << path;
  }
  void Node(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    if (::mknod((root_ + path).c_str(), S_IFCHR | 0666, gnu_dev_makedev(1, 3)) != 0) {
      GTEST_SKIP() << "device nodes cannot be made here";
    }
  }
  void Library(const std::string& folder, const std::string& name, const std::string& soname) {
    const std::string path = root_ + folder + name + "." + kVersion;
    ASSERT_EQ(std::system(("printf 'void f(void){}' | gcc -shared -nostdlib -Wl,-soname," + soname +
                           " -o " + path + " -xc -")
                              .c_str()),
              0);
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  CdiInput input_;
};

TEST_F(NvidiaCdiTest, DocumentForWorkloads) {
  const auto spec = NvidiaCdi(input_);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  Compare("workload.json", CdiText(*spec));
}

TEST_F(NvidiaCdiTest, DocumentForManagement) {
  input_.kind = names::kManagementCdiKind;
  const auto spec = ManagementCdi(input_);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  Compare("management.json", CdiText(*spec));
}

TEST_F(NvidiaCdiTest, DriverOfAContainer) {
  input_.driver.host_root = "/run/nvidia/driver";
  input_.driver.host_dev_root = "/run/nvidia/driver";
  input_.naming = {CdiNaming::kIndex, CdiNaming::kTypeIndex};
  const auto spec = NvidiaCdi(input_);
  Compare("container_driver.json", CdiText(*spec));
}

TEST_F(NvidiaCdiTest, WrittenAndReadItIsTheSame) {
  const CdiSpec spec = NvidiaCdi(input_).value();
  const auto read = ParseCdi(CdiText(spec));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(CdiText(*read), CdiText(spec));
}

TEST_F(NvidiaCdiTest, DocumentWithMigDevices) {
  input_.naming = {CdiNaming::kIndex, CdiNaming::kTypeIndex, CdiNaming::kUuid};
  input_.gpus[1].mig_enabled = true;
  input_.gpus[1].mig = {{"MIG-a", 0, MigNodes(root_, 1, 3, 0)},
                        {"MIG-b", 1, MigNodes(root_, 1, 4, 0)}};
  const CdiSpec spec = NvidiaCdi(input_).value();
  Compare("mig.json", CdiText(spec));
  std::vector<std::string> names;
  for (const CdiDevice& device : spec.devices) {
    names.push_back(device.name);
  }
  EXPECT_THAT(names, ElementsAre("0", "1:0", "1:1", "GPU-1", "MIG-a", "MIG-b", "all", "gpu0",
                                 "mig1:0", "mig1:1"))
      << "a GPU that is divided is no device itself";
}

TEST_F(NvidiaCdiTest, MigCapabilitiesAreReadFromTheKernel) {
  EXPECT_THAT(MigNodes(root_, 0, 0, 0),
              ElementsAre("/dev/nvidia-caps/nvidia-cap3", "/dev/nvidia-caps/nvidia-cap4"));
  EXPECT_THAT(MigNodes(root_, 1, 2, 1),
              ElementsAre("/dev/nvidia-caps/nvidia-cap156", "/dev/nvidia-caps/nvidia-cap158"));
  fs::create_directories(root_ + "/proc/driver/nvidia-caps");
  std::ofstream(root_ + "/proc/driver/nvidia-caps/mig-minors")
      << "config 11\nmonitor 12\ngpu1/gi2/access 500\ngpu1/gi2/ci1/access 502\n";
  EXPECT_THAT(MigNodes(root_, 1, 2, 1),
              ElementsAre("/dev/nvidia-caps/nvidia-cap500", "/dev/nvidia-caps/nvidia-cap502"));
  EXPECT_EQ(MigRightMinor(root_, "config"), 11);
  EXPECT_EQ(MigRightMinor(root_, "monitor"), 12);
  EXPECT_EQ(MigRightMinor("/nowhere", "monitor"), 2);
}

TEST_F(NvidiaCdiTest, GroupsOfNodesThatAreNotForEverybody) {
  ::chmod((root_ + "/dev/nvidia0").c_str(), 0660);
  ASSERT_EQ(::chown((root_ + "/dev/nvidia0").c_str(), 0, 44), 0);
  const Json json = CdiJson(NvidiaCdi(input_).value());
  EXPECT_EQ(json["cdiVersion"], "0.7.0");
  for (const Json& device : json["devices"]) {
    EXPECT_EQ(device["containerEdits"].value("additionalGids", Json::array()),
              device["name"] == "GPU-2" ? Json::array() : Json{44})
        << device["name"];
  }
  input_.additional_gids = false;
  EXPECT_EQ(CdiJson(NvidiaCdi(input_).value())["cdiVersion"], "0.5.0");
}

TEST_F(NvidiaCdiTest, FoldersOfTheAdministrator) {
  Put("/opt/nvidia/lib/libcuda-extra.so." + std::string(kVersion));
  Put("/opt/nvidia/etc/OpenCL/vendors/nvidia.icd");
  Put("/opt/firmware/nvidia/" + std::string(kVersion) + "/gsp_tu10x.bin");
  fs::create_directories(root_ + "/sys/module/firmware_class/parameters");
  std::ofstream(root_ + "/sys/module/firmware_class/parameters/path") << "/opt/firmware\n";
  input_.driver.library_folders = {"/opt/nvidia/lib"};
  input_.driver.config_folders = {"/opt/nvidia/etc"};
  const DriverInventory found = FindDriverFiles(input_.driver).value();
  EXPECT_EQ(found.libraries.front().path,
            "/opt/nvidia/lib/libcuda-extra.so." + std::string(kVersion));
  EXPECT_THAT(found.configs, Contains(DriverFile{"/etc/OpenCL/vendors/nvidia.icd",
                                                 "/opt/nvidia/etc/OpenCL/vendors/nvidia.icd"}));
  EXPECT_EQ(found.firmware.front().real,
            "/opt/firmware/nvidia/" + std::string(kVersion) + "/gsp_tu10x.bin");
}

TEST_F(NvidiaCdiTest, FoldersOfTheLinkersCache) {
  fs::create_directories(root_ + "/opt/driver");
  fs::rename(root_ + "/usr/lib/x86_64-linux-gnu", root_ + "/opt/driver/lib");
  EXPECT_FALSE(FindDriverFiles(input_.driver).has_value());
  std::ofstream(root_ + "/etc/ld.so.cache")
      << elf::LibraryCache::Read("")
             ->With({{"libnvidia-ml.so.1", "/opt/driver/lib/libnvidia-ml.so.1"}})
             .Whole();
  const auto found = FindDriverFiles(input_.driver);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->version, kVersion);
  EXPECT_EQ(found->libraries.front().path, std::string("/opt/driver/lib/libcuda.so.") + kVersion);
}

TEST_F(NvidiaCdiTest, FoldersOfTalosExtensions) {
  fs::create_directories(root_ + "/usr/local/glibc/usr");
  fs::rename(root_ + "/usr/lib/x86_64-linux-gnu", root_ + "/usr/local/glibc/usr/lib");
  const auto found = FindDriverFiles(input_.driver);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->libraries.front().path,
            std::string("/usr/local/glibc/usr/lib/libcuda.so.") + kVersion);
}

TEST_F(NvidiaCdiTest, GbmFindsItsBackend) {
  Library("/usr/lib/x86_64-linux-gnu/", "libnvidia-allocator.so", "libnvidia-allocator.so.1");
  EXPECT_THAT(FindDriverFiles(input_.driver)->links,
              Contains(testing::Pair("/usr/lib/x86_64-linux-gnu/gbm/nvidia-drm_gbm.so",
                                     "../libnvidia-allocator.so.1")));
}

// The rest of a driver's container: what its daemons serve there stands before the host's.
TEST_F(NvidiaCdiTest, SocketsOfTheDriverRootThenOfTheHost) {
  input_.driver.host_root = "/run/nvidia/driver";
  input_.driver.run_root = root_ + "/host";
  Put("/host/run/nvidia-persistenced/socket");
  Put("/host/run/nvidia-fabricmanager/socket");
  const DriverInventory found = FindDriverFiles(input_.driver).value();
  EXPECT_THAT(found.sockets,
              ElementsAre(DriverFile{"/run/nvidia-persistenced/socket",
                                     "/run/nvidia/driver/run/nvidia-persistenced/socket"},
                          DriverFile{"/run/nvidia-fabricmanager/socket",
                                     "/run/nvidia-fabricmanager/socket"}));
  input_.sockets = false;
  const CdiSpec spec = NvidiaCdi(input_).value();
  for (const CdiMount& mount : spec.edits.mounts) {
    EXPECT_THAT(mount.container_path, Not(HasSubstr("socket")));
  }
}

TEST_F(NvidiaCdiTest, XorgsModulesWhereDistributionsHaveThem) {
  const std::string glx = std::string("libglxserver_nvidia.so.") + kVersion;
  const std::vector<std::string> paths = {
      "/usr/lib/x86_64-linux-gnu/nvidia/xorg/" + glx,
      "/usr/lib/x86_64-linux-gnu/xorg/modules/updates/drivers/nvidia_drv.so",
      "/usr/lib/xorg/modules/drivers/nvidia_drv.so",
      "/usr/lib/xorg/modules/extensions/" + glx,
      "/usr/lib64/xorg/modules/drivers/nvidia_drv.so",
  };
  for (const std::string& path : paths) {
    Put(path);
  }
  Put("/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so.1.2");
  const DriverInventory inventory = FindDriverFiles(input_.driver).value();
  std::vector<std::string> found;
  for (const DriverLibrary& library : inventory.graphics_libraries) {
    found.push_back(library.path);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(paths));
}

TEST_F(NvidiaCdiTest, FeatureFlags) {
  TakeFeatures({"enable-explicit-driver-libraries", "no-additional-gids-for-device-nodes",
                "disable-ipc-discoverer", "enable-coherent-annotations", "of-tomorrow"},
               input_);
  EXPECT_TRUE(input_.driver.every_library);
  EXPECT_TRUE(input_.coherence);
  EXPECT_FALSE(input_.additional_gids);
  EXPECT_FALSE(input_.sockets);
  TakeFeatures({}, input_);
  EXPECT_FALSE(input_.sockets) << "they add to what is there";
}

TEST_F(NvidiaCdiTest, VendorNeutralLibrariesOnlyWhenAsked) {
  Put("/usr/lib/x86_64-linux-gnu/libOpenCL.so.1.0.0");
  const auto has = [&] {
    const DriverInventory found = FindDriverFiles(input_.driver).value();
    return std::ranges::any_of(found.libraries, [](const DriverLibrary& library) {
      return library.path.ends_with("/libOpenCL.so.1.0.0");
    });
  };
  EXPECT_FALSE(has());
  input_.driver.every_library = true;
  EXPECT_TRUE(has());
}

TEST_F(NvidiaCdiTest, HooksThatAreSwitchedOff) {
  input_.hook_switches.disabled = {"update-ldcache", "create-symlinks"};
  const CdiSpec spec = NvidiaCdi(input_).value();
  ASSERT_EQ(spec.edits.hooks.size(), 1U);
  EXPECT_THAT(spec.edits.hooks[0].args, AllOf(Not(Contains("--library")), Not(Contains("--link")),
                                              Contains("--host-driver-version")));
  input_.hook_switches.disabled = {"all"};
  EXPECT_TRUE(NvidiaCdi(input_)->edits.hooks.empty());
  input_.hook_switches.enabled = {"disable-device-node-modification"};
  EXPECT_THAT(
      NvidiaCdi(input_)->edits.hooks.at(0).args,
      ElementsAre("nvidia-cdi-hook", "create-container", "--disable-device-node-modification"));
}

// NVIDIA's device plugin names nvidia-ctk unless configured otherwise.
TEST_F(NvidiaCdiTest, HooksOfNvidiaCtkAreASubCommand) {
  input_.hook.path = "/usr/bin/nvidia-ctk";
  input_.hook_switches.disabled = {"all"};
  input_.hook_switches.enabled = {"disable-device-node-modification"};
  EXPECT_THAT(
      NvidiaCdi(input_)->edits.hooks.at(0).args,
      ElementsAre("nvidia-ctk", "hook", "create-container", "--disable-device-node-modification"));
}

TEST_F(NvidiaCdiTest, NoDriverIsNotFound) {
  input_.driver.root = root_ + "/dev";
  EXPECT_EQ(NvidiaCdi(input_).error().kind, ErrorKind::kNotFound);
}

TEST_F(NvidiaCdiTest, TwoVersionsAreNamed) {
  Put("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15");
  const auto spec = NvidiaCdi(input_);
  ASSERT_FALSE(spec.has_value());
  EXPECT_THAT(spec.error().message, AllOf(HasSubstr("535.247.01"), HasSubstr("550.54.15")));
  input_.driver.version = kVersion;
  EXPECT_TRUE(NvidiaCdi(input_).has_value());
}

TEST_F(NvidiaCdiTest, NoDeviceNodesNoManagementDocument) {
  fs::remove_all(root_ + "/dev");
  EXPECT_EQ(ManagementCdi(input_).error().kind, ErrorKind::kNotFound);
}

TEST(Cdi, WhatIsWrongIsNamed) {
  EXPECT_THAT(ParseCdi(R"({"kind": "a"})").error().message, HasSubstr("kind"));
  EXPECT_THAT(ParseCdi(R"({"kind": "a/b", "devices": 1})").error().message, HasSubstr("devices"));
  const auto unknown = ParseCdi(
      R"({"kind": "a/b", "devices": [{"name": "x", "containerEdits": {"ofTomorrow": {}}}]})");
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("ofTomorrow"));
}

TEST(Cdi, Names) {
  EXPECT_EQ(ParseCdiName("nvidia.com/gpu=0")->kind, "nvidia.com/gpu");
  EXPECT_EQ(ParseCdiName("nvidia.com/gpu=0")->device, "0");
  EXPECT_FALSE(ParseCdiName("GPU-1").has_value());
  EXPECT_FALSE(ParseCdiName("/gpu=0").has_value());
  EXPECT_FALSE(ParseCdiName("a/b=").has_value());
  EXPECT_EQ(ParseCdiName("k8s.a_b-c/gpu.x=GPU-1:2_3.4")->device, "GPU-1:2_3.4");
  for (const char* name : {"a/b/c=0", "a/b c=0", "1a/b=0", "a-/b=0", "a/1=0", "a/b.=0", "a/b=0 1",
                           "a/b=0=1", "a/b=-0", "a=b/0", "a/=0", "a/b"}) {
    EXPECT_FALSE(ParseCdiName(name).has_value()) << name;
  }
  EXPECT_EQ(CdiFileStem("k8s.device-plugin.nvidia.com/gpu"), "k8s.device-plugin.nvidia.com-gpu");
}

}  // namespace
}  // namespace gantry::container
