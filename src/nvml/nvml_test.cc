// SPDX-License-Identifier: Apache-2.0
// The parts of nvml that need no driver: codes, where the library lies, and what opening says when
// there is none. What a driver answers is tested on the fake library (fake_library_test.cc).
#include "nvml/nvml.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/testing/temp_folder.h"
#include "elf/library_cache.h"
#include "nvml/errors.h"
#include "nvml/symbols.h"

namespace gantry::nvml {
namespace {

namespace fs = std::filesystem;

class Root : public testing::Test {
 protected:
  void Put(const fs::path& inside) {
    fs::create_directories((root_ / inside).parent_path());
    std::ofstream(root_ / inside) << "x";
  }
  void Link(const fs::path& inside, const fs::path& target) {
    fs::create_directories((root_ / inside).parent_path());
    fs::create_symlink(target, root_ / inside);
  }
  const TempFolder temporary_;
  const fs::path root_ = temporary_.path();
};

TEST(Errors, SayWhatTheCallerDoes) {
  EXPECT_EQ(KindOf(NVML_ERROR_DRIVER_NOT_LOADED), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(NVML_ERROR_GPU_IS_LOST), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(NVML_ERROR_UNKNOWN), ErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(NVML_ERROR_NOT_SUPPORTED), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(NVML_ERROR_FUNCTION_NOT_FOUND), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(NVML_ERROR_NO_PERMISSION), ErrorKind::kDenied);
  EXPECT_EQ(KindOf(NVML_ERROR_TIMEOUT), ErrorKind::kTimeout);
  EXPECT_EQ(KindOf(static_cast<nvmlReturn_t>(77)), ErrorKind::kUnavailable);
}

TEST(Errors, NameCallAndDevice) {
  EXPECT_EQ(FailNvml("nvmlDeviceGetUUID", "GPU 3", NVML_ERROR_GPU_IS_LOST).error().message,
            "nvmlDeviceGetUUID GPU 3: GPU_IS_LOST");
  EXPECT_EQ(FailNvml("nvmlInit", "", static_cast<nvmlReturn_t>(77)).error().message,
            "nvmlInit: code 77");
}

TEST(Address, IsAsSysfsSpellsIt) {
  nvmlPciInfo_t pci{};
  pci.domain = 0;
  pci.bus = 0x3B;
  pci.device = 0x1F;
  EXPECT_EQ(SysfsBusId(pci), "0000:3b:1f.0");
  pci.domain = 0x10000;
  EXPECT_EQ(SysfsBusId(pci), "10000:3b:1f.0");
}

TEST(Call, MissingFunctionIsFunctionNotFound) {
  Symbols symbols;
  EXPECT_EQ(Call(symbols.nvmlShutdown), NVML_ERROR_FUNCTION_NOT_FOUND);
}

TEST(Coherence, AsTheDriverAnswers) {
  Symbols symbols;
  EXPECT_EQ(IsCoherent(symbols, nullptr), false) << "a driver before 580";
  symbols.nvmlDeviceGetAddressingMode = [](nvmlDevice_t, GantryNvmlAddressingMode* mode) {
    mode->value = 2;
    return mode->version == 0x01000008 ? NVML_SUCCESS : NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  };
  EXPECT_EQ(IsCoherent(symbols, nullptr), true) << "ATS";
  symbols.nvmlDeviceGetAddressingMode = [](nvmlDevice_t, GantryNvmlAddressingMode* mode) {
    mode->value = 1;
    return NVML_SUCCESS;
  };
  EXPECT_EQ(IsCoherent(symbols, nullptr), false) << "HMM: pages go to and fro";
  symbols.nvmlDeviceGetAddressingMode = [](nvmlDevice_t, GantryNvmlAddressingMode*) {
    return NVML_ERROR_NOT_SUPPORTED;
  };
  EXPECT_EQ(IsCoherent(symbols, nullptr), false);
  symbols.nvmlDeviceGetAddressingMode = [](nvmlDevice_t, GantryNvmlAddressingMode*) {
    return NVML_ERROR_GPU_IS_LOST;
  };
  EXPECT_EQ(IsCoherent(symbols, nullptr), std::nullopt);
}

TEST_F(Root, FindsTheLibraryInAnyOfTheFolders) {
  for (const char* folder :
       {"usr/lib", "usr/local/glibc/usr/lib", "lib/x86_64-linux-gnu", "lib64",
        "usr/lib/aarch64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib64"}) {
    Put(fs::path(folder) / "libnvidia-ml.so.1");
    const auto found = FindLibrary(root_);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(*found, root_ / folder / "libnvidia-ml.so.1");
  }
}

TEST_F(Root, FollowsLinksInsideTheRootOnly) {
  Put("lib/nvidia/libnvidia-ml.so.535.1");
  Link("usr/lib64", "../../../../lib/nvidia");
  Link("lib/nvidia/libnvidia-ml.so.1", "/lib/nvidia/libnvidia-ml.so.535.1");
  const auto found = FindLibrary(root_);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(*found, root_ / "lib/nvidia/libnvidia-ml.so.535.1");
}

TEST_F(Root, FindsTheLibraryWhereTheLinkersCacheSays) {
  Put("opt/lib/libnvidia-ml.so.1");
  Put("etc/ld.so.cache");
  std::ofstream(root_ / "etc/ld.so.cache")
      << elf::LibraryCache::Read("")
             ->With({{"libnvidia-ml.so.1", "/opt/lib/libnvidia-ml.so.1"}})
             .Whole();
  const auto found = FindLibrary(root_);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(*found, root_ / "opt/lib/libnvidia-ml.so.1");
}

TEST_F(Root, LinkLoopsAndMissingFilesAreNotFound) {
  Link("usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.1");
  const auto found = FindLibrary(root_);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(found.error().message.find(root_.string()), std::string::npos);
}

TEST_F(Root, OpeningWhatIsNotThereOrNoLibraryIsNotFound) {
  Put("libnvidia-ml.so.1");
  for (const fs::path& path : {root_ / "missing.so", root_ / "libnvidia-ml.so.1"}) {
    const auto opened = Library::Open({.library = path, .sys = root_});
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().kind, ErrorKind::kNotFound);
    EXPECT_NE(opened.error().message.find(path.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace gantry::nvml
