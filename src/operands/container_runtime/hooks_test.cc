// SPDX-License-Identifier: Apache-2.0
// What the hook does to an image's files, also to one that wants to lead it astray.
#include "operands/container_runtime/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "elf/library_cache.h"
#include "operands/container_runtime/cuda_compat.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<elf::CachedLibrary> Listed(const std::string& cache) {
  std::vector<elf::CachedLibrary> libraries;
  if (const auto read = elf::LibraryCache::Read(cache)) {
    for (const elf::CachedName& each : read->names()) {
      libraries.push_back({std::string(each.soname), std::string(each.path)});
    }
  }
  return libraries;
}

class HooksTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = folder_ + "/rootfs";
    fs::create_directories(root_ + "/etc");
  }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string Get(const std::string& path) { return ReadFile(root_ + path).value_or("(absent)"); }

  // Runs a hook with these words; the message of its error, or "".
  std::string Hook(const std::vector<std::string>& words) {
    const auto request = ParseHookArguments(words);
    if (!request) {
      return request.error().message;
    }
    const auto root = ContainerRoot::Open(root_);
    const Status done = RunHook(*request, *root, warnings_);
    return done ? "" : done.error().message;
  }
  // As runc leaves it for its hooks: a mount namespace of its own, in which the file is mounted.
  // What is mounted ends with the process.
  bool MountAsRuncDoes(const std::string& file) {
    const std::string path = root_ + file;
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  std::vector<elf::CachedLibrary> Cache() { return Listed(Get("/etc/ld.so.cache")); }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::string root_;
  std::vector<std::string> warnings_;
};

TEST_F(HooksTest, OneCallDoesItAll) {
  Put("/usr/lib/x/libcuda.so.535.1", "elf");
  Put("/dev/dri/card1", "");
  EXPECT_EQ(Hook({"create-container", "--link", "libcuda.so.1::/usr/lib/x/libcuda.so",
                  "--device-link", "../card1::/dev/dri/by-path/pci-0000:01:00.0-card",
                  "--device-link", "../card2::/dev/dri/by-path/pci-0000:02:00.0-card", "--library",
                  "libcuda.so.1=/usr/lib/x/libcuda.so.535.1"}),
            "");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/x/libcuda.so"), "libcuda.so.1");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/x/libcuda.so.1"), "libcuda.so.535.1");
  EXPECT_EQ(fs::read_symlink(root_ + "/dev/dri/by-path/pci-0000:01:00.0-card"), "../card1");
  EXPECT_FALSE(fs::is_symlink(root_ + "/dev/dri/by-path/pci-0000:02:00.0-card"));
  EXPECT_THAT(Cache(), ElementsAre(elf::CachedLibrary{"libcuda.so.1", "/usr/lib/x/libcuda.so.1"},
                                   elf::CachedLibrary{"libcuda.so", "/usr/lib/x/libcuda.so"}));
  EXPECT_EQ(Get("/etc/ld.so.conf.d/00-nvidia-driver.conf"), "/usr/lib/x\n");
}

TEST_F(HooksTest, ASecondRunChangesNothing) {
  Put("/usr/lib/x/libcuda.so.535.1", "elf");
  const std::vector<std::string> words = {"create-container", "--library",
                                          "libcuda.so.1=/usr/lib/x/libcuda.so.535.1"};
  ASSERT_EQ(Hook(words), "");
  const std::string cache = Get("/etc/ld.so.cache");
  ASSERT_EQ(Hook(words), "");
  EXPECT_EQ(Listed(cache), Cache());
}

// What a CUDA toolkit's CDI device asks for.
const std::vector<std::string> kCuda = {
    "create-container",
    "--link-if-absent",
    "/opt/nvidia/cuda-12.4::/usr/local/cuda-12.4",
    "--link-if-absent",
    "cuda-12.4::/usr/local/cuda",
    "--cuda-library",
    "libcudart.so.12=/opt/nvidia/cuda-12.4/lib64/libcudart.so.12",
    "--cuda-library",
    "libcublas.so.12=/opt/nvidia/cuda-12.4/lib64/libcublas.so.12"};

TEST_F(HooksTest, AnImageWithoutCudaGetsOne) {
  Put("/opt/nvidia/cuda-12.4/lib64/libcudart.so.12", "elf");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Hook(kCuda), "");
    EXPECT_EQ(fs::read_symlink(root_ + "/usr/local/cuda"), "cuda-12.4");
    EXPECT_EQ(fs::read_symlink(root_ + "/usr/local/cuda-12.4"), "/opt/nvidia/cuda-12.4");
    EXPECT_THAT(
        Cache(),
        testing::UnorderedElementsAre(
            elf::CachedLibrary{"libcudart.so.12", "/opt/nvidia/cuda-12.4/lib64/libcudart.so.12"},
            elf::CachedLibrary{"libcublas.so.12", "/opt/nvidia/cuda-12.4/lib64/libcublas.so.12"}));
    EXPECT_EQ(Get("/etc/ld.so.conf.d/zz-cuda-toolkit.conf"), "/opt/nvidia/cuda-12.4/lib64\n");
    EXPECT_EQ(Get("/etc/ld.so.conf.d/00-nvidia-driver.conf"), "(absent)");
  }
}

TEST_F(HooksTest, TheCudaOfAnImageStays) {
  Put("/usr/local/cuda-12.4/bin/nvcc", "its own");
  Put("/usr/local/cuda-11.8/bin/nvcc", "its own");
  fs::create_symlink("cuda-11.8", root_ + "/usr/local/cuda");
  const std::string cache =
      elf::LibraryCache::Read("")->With({{"libcudart.so.11.0", "/x/libcudart.so.11.0"}}).Whole();
  Put("/etc/ld.so.cache", cache);
  ASSERT_EQ(Hook(kCuda), "");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/local/cuda"), "cuda-11.8");
  EXPECT_EQ(Get("/usr/local/cuda-12.4/bin/nvcc"), "its own");
  EXPECT_EQ(Get("/etc/ld.so.cache"), cache);
  EXPECT_EQ(Get("/etc/ld.so.conf.d/zz-cuda-toolkit.conf"), "(absent)");
}

TEST_F(HooksTest, ALibraryThatTheImageKnowsStaysInFrontOfCudas) {
  Put("/etc/ld.so.cache",
      elf::LibraryCache::Read("")->With({{"libcublas.so.12", "/x/libcublas.so.12"}}).Whole());
  ASSERT_EQ(Hook(kCuda), "");
  EXPECT_THAT(Cache(), testing::UnorderedElementsAre(
                           elf::CachedLibrary{"libcublas.so.12", "/x/libcublas.so.12"},
                           elf::CachedLibrary{"libcudart.so.12",
                                              "/opt/nvidia/cuda-12.4/lib64/libcudart.so.12"}));
}

TEST_F(HooksTest, LinksOfTheImageDoNotLeadOut) {
  fs::remove(root_ + "/etc");
  fs::create_directories(folder_ + "/host-etc");
  fs::create_symlink("../host-etc", root_ + "/etc");
  fs::create_symlink(folder_ + "/host-etc", root_ + "/absolute");
  EXPECT_EQ(Hook({"create-symlinks", "--link", "x::/absolute/x"}),
            "open /absolute in the container: No such file or directory");
  EXPECT_EQ(Hook({"create-container", "--library", "a.so.1=/lib/a.so.1.2"}), "");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("open /etc in"), HasSubstr("open /etc in")));
  EXPECT_TRUE(fs::is_empty(folder_ + "/host-etc"));
}

TEST_F(HooksTest, AFileInTheWayOfALinkIsReplaced) {
  Put("/usr/lib/libcuda.so.1", "baked into the image");
  EXPECT_EQ(Hook({"create-symlinks", "--link", "libcuda.so.535.1::/usr/lib/libcuda.so.1"}), "");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/libcuda.so.1"), "libcuda.so.535.1");
}

TEST_F(HooksTest, MuslGetsFoldersInsteadOfACache) {
  Put("/etc/alpine-release", "3.20");
  EXPECT_EQ(Hook({"create-container", "--library", "libcuda.so.1=/usr/lib64/libcuda.so.535.1"}),
            "");
  EXPECT_EQ(Get("/etc/ld-musl-x86_64.path"), "/lib\n/usr/local/lib\n/usr/lib\n/usr/lib64\n");
  EXPECT_EQ(Get("/etc/ld.so.cache"), "(absent)");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib64/libcuda.so.1"), "libcuda.so.535.1");
}

TEST_F(HooksTest, UnreadableCacheIsAWarning) {
  Put("/etc/ld.so.cache", "not a cache");
  EXPECT_EQ(Hook({"update-ldcache", "--folder", "/usr/lib"}), "");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("read library cache")));
  EXPECT_EQ(Get("/etc/ld.so.cache"), "not a cache");
}

TEST_F(HooksTest, FoldersAreSearchedForWhatTheCacheLacks) {
  fs::create_directories(root_ + "/opt/lib");
  ASSERT_EQ(std::system(("printf 'void f(void){}' | gcc -shared -o " + root_ +
                         "/opt/lib/libdriver.so.535.1 -Wl,-soname,libdriver.so.1 -xc -")
                            .c_str()),
            0);
  EXPECT_EQ(Hook({"update-ldcache", "--folder", "/opt/lib"}), "");
  EXPECT_THAT(Cache(),
              ElementsAre(elf::CachedLibrary{"libdriver.so.1", "/opt/lib/libdriver.so.1"}));
  EXPECT_EQ(fs::read_symlink(root_ + "/opt/lib/libdriver.so.1"), "libdriver.so.535.1");
}

// Windows' libdxcore.so and the libraries of Tegra boards have no version in their names.
TEST_F(HooksTest, ALibraryNeedsNoVersionInItsName) {
  fs::create_directories(root_ + "/opt/lib");
  for (const char* name : {"libdxcore.so", "plugin.so"}) {
    ASSERT_EQ(std::system(("printf 'void f(void){}' | gcc -shared -o " + root_ + "/opt/lib/" +
                           name + " -Wl,-soname," + name + " -xc -")
                              .c_str()),
              0);
  }
  fs::create_symlink("libdxcore.so", root_ + "/opt/lib/liblink.so");
  Put("/opt/lib/libtext.so", "INPUT(libdxcore.so)");
  EXPECT_EQ(Hook({"update-ldcache", "--folder", "/opt/lib"}), "");
  EXPECT_THAT(Cache(), ElementsAre(elf::CachedLibrary{"libdxcore.so", "/opt/lib/libdxcore.so"}));
}

// As documents have it that NVIDIA's tools made: one hook after the other.
TEST_F(HooksTest, UpdateLdcacheLeavesTheImagesCudaInFront) {
  const auto build = [&](const std::string& folder, const std::string& version) {
    fs::create_directories(root_ + folder);
    const std::string library = root_ + folder + "/libcuda.so." + version;
    ASSERT_EQ(std::system(("printf 'void f(void){}' | gcc -shared -o " + library +
                           " -Wl,-soname,libcuda.so.1 -xc -")
                              .c_str()),
              0);
  };
  build("/usr/local/cuda/compat", "550.54.15");
  fs::create_symlink("libcuda.so.550.54.15", root_ + "/usr/local/cuda/compat/libcuda.so.1");
  build("/usr/lib/x", "535.1");
  ASSERT_EQ(Hook({"enable-cuda-compat", "--host-driver-version=535.1"}), "");
  EXPECT_EQ(Get("/etc/ld.so.conf.d/00-compat-cuda.conf"), "/usr/local/cuda/compat\n");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Hook({"update-ldcache", "--folder", "/usr/lib/x"}), "");
    EXPECT_THAT(
        Cache(),
        ElementsAre(elf::CachedLibrary{"libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1"},
                    elf::CachedLibrary{"libcuda.so.1", "/usr/lib/x/libcuda.so.1"}));
    EXPECT_EQ(Get("/etc/ld.so.conf.d/00-nvidia-driver.conf"), "/usr/lib/x\n");
  }
}

TEST_F(HooksTest, ProfileOfTheGpusInTheContainer) {
  constexpr char kProfile[] = "/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf";
  EXPECT_EQ(Hook({"update-application-profile"}), "");
  EXPECT_EQ(Get(kProfile), "(absent)") << "no GPU, nothing to hide";
  Put("/dev/nvidia2", "");
  EXPECT_EQ(Hook({"create-container", "--update-application-profile"}), "");
  EXPECT_THAT(Get(kProfile), HasSubstr("EGLVisibleDGPUDevices\", 0x4]"));
  struct stat info{};
  ::stat((root_ + kProfile).c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0444U);
  ::stat(fs::path(root_ + kProfile).parent_path().c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0555U);
  EXPECT_EQ(Hook({"create-container", "--update-application-profile"}), "") << "once more";
}

TEST_F(HooksTest, Chmod) {
  Put("/dev/dri/x", "");
  EXPECT_EQ(Hook({"chmod", "--mode=711", "--path=/dev/dri"}), "");
  struct stat info{};
  ::stat((root_ + "/dev/dri").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0711U);
  EXPECT_EQ(Hook({"chmod", "--mode=711", "--path=/not/there"}), "") << "not in every container";
  EXPECT_THAT(Hook({"chmod", "--path=/dev/dri"}), HasSubstr("--mode is missing"));
  for (const char* mode : {"--mode=", "--mode=0x1", "--mode=78", "--mode=rwx"}) {
    EXPECT_THAT(Hook({"chmod", mode, "--path=/dev/dri"}), HasSubstr("no octal number")) << mode;
  }
}

TEST_F(HooksTest, AModeThatMayNotBeChangedIsAWarning) {
  HookRequest request;
  request.mode = 0711;
  request.paths = {"/status"};  // of a process: not even root's to change
  EXPECT_TRUE(RunHook(request, *ContainerRoot::Open("/proc/self"), warnings_).has_value());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("/status")));
}

TEST_F(HooksTest, AContainersStateFromAFile) {
  std::ofstream(folder_ + "/state.json") << R"({"root": ")" << root_ << R"("})";
  const std::vector<std::string> words = {"create-symlinks", "--link", "x::/etc/y",
                                          "--container-spec", folder_ + "/state.json"};
  EXPECT_EQ(RunCdiHook("nvidia-cdi-hook", words), 0);
  EXPECT_EQ(fs::read_symlink(root_ + "/etc/y"), "x");
}

TEST(HookArguments, UnknownHooksAndFlagsAreNotErrors) {
  EXPECT_FALSE(ParseHookArguments({"of-tomorrow", "--x"})->known);
  EXPECT_FALSE(ParseHookArguments({"create-symlinks", "--of-tomorrow", "x"})->known);
  EXPECT_FALSE(ParseHookArguments({})->known);
  EXPECT_TRUE(ParseHookArguments({"--debug", "create-symlinks", "--link=a::b"})->known);
  EXPECT_FALSE(ParseHookArguments({"create-symlinks", "--link", "no-middle"}).has_value());
}

TEST(HookArguments, NvidiasHooks) {
  const auto compat = ParseHookArguments(
      {"enable-cuda-compat", "--host-driver-version=535.1", "--cuda-compat-container-root=/c"});
  EXPECT_TRUE(compat->cuda_compat);
  EXPECT_EQ(compat->host_driver_version, "535.1");
  EXPECT_EQ(compat->compat_folder, "/c");
  EXPECT_TRUE(
      ParseHookArguments({"disable-device-node-modification"})->disable_device_node_modification);
  EXPECT_THAT(ParseHookArguments({"update-ldcache", "--folder", "/a", "--folder=/b,/c",
                                  "--ldconfig-path", "/sbin/ldconfig"})
                  ->folders,
              ElementsAre("/a", "/b", "/c"));
}

TEST(State, RootOfTheBundle) {
  const TempFolder temporary;
  const std::string& bundle = temporary.path();
  std::ofstream(bundle + "/config.json")
      << R"({"process": {"env": ["root=x"]}, "root": {"path": "rootfs", "readonly": true},)"
      << R"( "linux": {"root": {"path": "wrong"}}})";
  EXPECT_EQ(RootFromState(R"({"bundle": ")" + bundle + R"("})").value(), bundle + "/rootfs");
  EXPECT_EQ(RootFromState(R"({"bundle": "/x", "root": "/r"})").value(), "/r");
  std::ofstream(bundle + "/config.json") << R"({"root": {"path": "/abs/rootfs"}})";
  EXPECT_EQ(RootFromState(R"({"bundle": ")" + bundle + R"("})").value(), "/abs/rootfs");
  std::ofstream(bundle + "/config.json") << "{}";
  EXPECT_FALSE(RootFromState(R"({"bundle": ")" + bundle + R"("})").has_value());
}

TEST_F(HooksTest, TheWorkingFolderIsTheRootIfALibraryIsMountedThere) {
  const std::string library = "/usr/lib/libcuda.so.580.1";
  Put(library, "driver");
  HookRequest request;
  request.libraries = {{"libcuda.so.1", library}};
  const auto found = [&] { return RootFromWorkingFolder(request).has_value(); };
  const auto in_container = [&] {
    if (!MountAsRuncDoes(library) || ::chdir(folder_.c_str()) != 0 || found()) {
      ::_exit(1);
    }
    if (::chdir(root_.c_str()) != 0 || !found()) {
      ::_exit(2);
    }
    if (::chroot(".") != 0 || found()) {
      ::_exit(3);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(in_container(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(::_exit(::chdir(root_.c_str()) != 0 || found() ? 1 : 0), testing::ExitedWithCode(0),
              "");
}

// runc writes the state when its scheduler comes to it: up to 13 ms later.
TEST_F(HooksTest, AStateThatIsNotNeededIsNotWaitedFor) {
  const std::string library = "/usr/lib/libcuda.so.580.1";
  Put(library, "driver");
  const auto in_container = [&] {
    std::array<int, 2> state{};
    const bool ready = MountAsRuncDoes(library) && ::chdir(root_.c_str()) == 0 &&
                       ::pipe(state.data()) == 0 && ::dup2(state[0], STDIN_FILENO) == STDIN_FILENO;
    ::alarm(10);  // ends the process if it waits
    ::_exit(ready ? RunCdiHook("nvidia-cdi-hook",
                               {"create-container", "--library", "libcuda.so.1=" + library})
                  : 2);
  };
  EXPECT_EXIT(in_container(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/lib/libcuda.so.1"), "libcuda.so.580.1");
}

TEST_F(HooksTest, ASecondStartWritesNothing) {
  const std::vector<std::string> words = {"create-container", "--library",
                                          "libcuda.so.1=/usr/lib/x/libcuda.so.535.1"};
  ASSERT_EQ(Hook(words), "");
  const std::string once = Get("/etc/ld.so.cache");
  ASSERT_EQ(Hook(words), "");
  EXPECT_EQ(Get("/etc/ld.so.cache"), once);
}

TEST(CudaCompat, DecidedByVersions) {
  CompatFacts facts{"550.54.15", "535.247.01", "12.2", false, {}, ""};
  EXPECT_TRUE(UseCompat(facts));
  facts.host_driver_version = "550.90";
  EXPECT_FALSE(UseCompat(facts)) << "same branch";
  facts.host_driver_version = "560.1";
  EXPECT_FALSE(UseCompat(facts)) << "the host is newer";
  facts.host_driver_version = "";
  EXPECT_FALSE(UseCompat(facts)) << "nothing is known of the host";
}

TEST(CudaCompat, TheNoteNamesTheDriverBranches) {
  CompatFacts facts{"580.65", "535.247.01", "12.2", true, {535, 550}, "13.0"};
  EXPECT_TRUE(UseCompat(facts));
  facts.host_driver_version = "545.1";
  EXPECT_FALSE(UseCompat(facts)) << "not in the list";
  facts.host_driver_version = "";
  EXPECT_TRUE(UseCompat(facts)) << "by the CUDA version";
  facts.host_cuda_version = "13.0";
  EXPECT_FALSE(UseCompat(facts));
}

}  // namespace
}  // namespace gantry::container_runtime
