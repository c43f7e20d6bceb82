// SPDX-License-Identifier: Apache-2.0
// Whether the hook's cache and links are those that ldconfig makes of the same folders.
#include "operands/container_runtime/library_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/shell.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"
#include "operands/container_runtime/hooks.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class LibraryUpdateTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = folder_ + "/root";
    fs::create_directories(root_ + "/etc");
    // A container's linker finds nothing by ldconfig's own folders here, as in an image of another
    // distribution.
    for (const char* name : {"/opt/d", "/opt/e"}) {
      fs::create_directories(root_ + name);
    }
  }

  bool Library(const std::string& path, const std::string& soname, const char* flags = "") {
    const std::string named = soname.empty() ? "" : " -Wl,-soname," + soname;
    return std::system(format("echo 'void f(void){{}}' | gcc {} -shared -o '{}{}'{} -xc "
                              "- 2>/dev/null",
                              flags, root_, path, named)
                           .c_str()) == 0;
  }
  void Link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, root_ + path);
  }
  void Text(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }

  // The cache's lines and the links of the folders, but for those that lead to nothing: ldconfig
  // takes some of them away.
  static std::string Seen(const std::string& root) {
    return Shell("ldconfig -r " + root + " -p | grep '=>'; cd " + root +
                 "/opt && find . -type l ! -xtype l -printf '%p %l\n' | sort")
        .output;
  }
  // Of a copy of the root, by ldconfig; twice, so that what leads to a link that it makes counts.
  std::string ByLdconfig(const std::string& folders) {
    const std::string copy = folder_ + "/copy";
    fs::remove_all(copy);
    fs::copy(root_, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (int i = 0; i < 2; ++i) {
      Shell("ldconfig -r " + copy + " " + folders + " 2>/dev/null");
    }
    return Seen(copy);
  }
  std::string ByHook(const std::vector<std::string>& words) {
    const auto request = ParseHookArguments(words);
    std::vector<std::string> warnings;
    EXPECT_TRUE(RunHook(*request, *ContainerRoot::Open(root_), warnings).has_value());
    EXPECT_THAT(warnings, testing::IsEmpty());
    return Seen(root_);
  }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::string root_;
};

// nct#944: libraries outside the linker's own folders, found by dlopen("libcuda.so").
TEST_F(LibraryUpdateTest, Nct944_AFolderIsListedAsLdconfigListsIt) {
  ASSERT_TRUE(Library("/opt/d/libcuda.so.535.1", "libcuda.so.1"));
  Link("libcuda.so.1", "/opt/d/libcuda.so");
  Library("/opt/d/libdirect.so.2.3", "libdirect.so.2");
  Link("libdirect.so.2.3", "/opt/d/libdirect.so");
  Library("/opt/d/libGLX_nvidia.so.535.1", "libGLX_nvidia.so.0");
  Link("libGLX_nvidia.so.535.1", "/opt/d/libGLX_indirect.so.0");
  Library("/opt/d/libnosoname.so.7", "");
  Link("libnosoname.so.7", "/opt/d/libnosoname.so");
  Library("/opt/d/libplain.so", "libplain.so");
  Link("libplain.so", "/opt/d/liblink.so");
  Link("libplain.so", "/opt/d/libzlink.so");
  Library("/opt/d/libtwo.so.1.2", "libtwo.so.1");
  Library("/opt/d/libtwo.so.1.10", "libtwo.so.1");
  Link("libtwo.so.1.2", "/opt/d/libtwo.so.1");
  Library("/opt/d/libmid.so.535.1", "libmid.so.1");
  Link("libmid.so.535.1", "/opt/d/libmid.so.535");
  Link("libmid.so.535", "/opt/d/libmid.so.1");
  Library("/opt/d/libround.so.1.2", "libround.so.1");
  Link("libround.so.1.2", "/opt/d/libround.so.1");
  Link("libround.so.1", "/opt/d/libround.so.9");
  Link("nowhere", "/opt/d/libdangling.so");
  Library("/opt/e/libother.so.3", "libother.so.3");
  Link("../e/libother.so.3", "/opt/d/libother.so");
  Link("/opt/e/libother.so.3", "/opt/d/libother.so.3");
  Library("/opt/d/libregular.so.1", "libregular.so.1");
  Library("/opt/d/libregular.so.1.5", "libregular.so.1");
  Library("/opt/d/libold.so", "libold.so.4");
  Library("/opt/d/plugin.so", "plugin.so");
  Library("/opt/d/ld-nvidia.so.2", "ld-nvidia.so.2");
  Library("/opt/d/libpre.so.1.#prelink#", "libpre.so.1");
  Text("/opt/d/libtext.so", "INPUT(libplain.so)\n");
  Text("/opt/d/libempty.so", "");
  fs::create_directories(root_ + "/opt/d/libfolder.so");
  Library("/opt/e/libcuda.so.535.1", "libcuda.so.1");
  Library("/opt/e/libnarrow.so.1.1", "libnarrow.so.1", "-m32");
  Library("/opt/d/libnarrow.so.1.1", "libnarrow.so.1");
  const std::string expected = ByLdconfig("/opt/e /opt/d");
  EXPECT_THAT(expected, HasSubstr("libcuda.so (libc6,x86-64) => /opt/d/libcuda.so\n"));
  EXPECT_EQ(ByHook({"update-ldcache", "--folder", "/opt/e", "--folder", "/opt/d"}), expected);
  const std::string once = ReadFile(root_ + "/etc/ld.so.cache").value_or("");
  EXPECT_EQ(ByHook({"update-ldcache", "--folder", "/opt/e", "--folder", "/opt/d"}), expected);
  EXPECT_EQ(ReadFile(root_ + "/etc/ld.so.cache").value_or(""), once);
}

// Real libraries: this machine's, of 64 and of 32 bits.
TEST_F(LibraryUpdateTest, FoldersOfThisMachine) {
  Shell("cp -a /usr/lib/*-linux-gnu/lib[a-e]*.so* " + root_ + "/opt/d; cp -a /usr/lib32/lib*.so* " +
        root_ + "/opt/e");
  const std::string expected = ByLdconfig("/opt/d /opt/e");
  EXPECT_THAT(expected, HasSubstr("=> /opt/d/libc.so.6\n"));
  EXPECT_EQ(ByHook({"update-ldcache", "--folder", "/opt/d,/opt/e"}), expected);
}

// The same where the document names the libraries.
TEST_F(LibraryUpdateTest, Nct944_LibrariesOfADocumentAreListedAsLdconfigListsThem) {
  Library("/opt/d/libcuda.so.535.1", "libcuda.so.1");
  Library("/opt/d/libnvidia-ml.so.535.1", "libnvidia-ml.so.1");
  Library("/opt/d/libGLX_nvidia.so.535.1", "libGLX_nvidia.so.0");
  Library("/opt/e/libnvidia-allocator.so.535.1", "libnvidia-allocator.so.1");
  const std::string seen =
      ByHook({"create-container", "--link", "libcuda.so.1::/opt/d/libcuda.so", "--link",
              "libnvidia-ml.so.535.1::/opt/d/libnvidia-ml.so", "--link",
              "libGLX_nvidia.so.535.1::/opt/d/libGLX_indirect.so.0", "--link",
              "../libnvidia-allocator.so.1::/opt/e/gbm/nvidia-drm_gbm.so", "--library",
              "libcuda.so.1=/opt/d/libcuda.so.535.1", "--library",
              "libnvidia-ml.so.1=/opt/d/libnvidia-ml.so.535.1", "--library",
              "libGLX_nvidia.so.0=/opt/d/libGLX_nvidia.so.535.1", "--library",
              "libnvidia-allocator.so.1=/opt/e/libnvidia-allocator.so.535.1"});
  EXPECT_THAT(seen, HasSubstr("libcuda.so (libc6,x86-64) => /opt/d/libcuda.so\n"));
  EXPECT_THAT(seen, HasSubstr("libnvidia-ml.so (libc6,x86-64) => /opt/d/libnvidia-ml.so\n"));
  EXPECT_THAT(seen, Not(HasSubstr("libGLX_indirect.so.0 (libc6")));
  EXPECT_EQ(seen, ByLdconfig("/opt/d /opt/e"));
}

TEST_F(LibraryUpdateTest, MuslHasTheLinksToo) {
  Library("/opt/d/libcuda.so.535.1", "libcuda.so.1");
  Text("/etc/alpine-release", "3.20\n");
  ByHook({"update-ldcache", "--folder", "/opt/d"});
  EXPECT_EQ(fs::read_symlink(root_ + "/opt/d/libcuda.so.1"), "libcuda.so.535.1");
  EXPECT_FALSE(fs::exists(root_ + "/etc/ld.so.cache"));
}

}  // namespace
}  // namespace gantry::container_runtime
