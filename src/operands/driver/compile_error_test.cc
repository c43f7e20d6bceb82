// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/compile_error.h"

#include <gtest/gtest.h>

#include <array>

namespace gantry::driver {
namespace {

struct Case {
  const char* what;
  const char* log;
  const char* error;
};

constexpr std::array kCases = std::to_array<Case>({
    {"a compiler's, not make's before or after it",
     "make[1]: Entering directory '/usr/src/linux-headers-6.12'\n"
     "  CC [M]  /cache/.build-1/nvidia/nv.o\n"
     "/cache/.build-1/nvidia/nv.c:12:5: warning: unused variable 'x'\n"
     "/cache/.build-1/nvidia/nv.c:214:9: error: implicit declaration of function 'f'\n"
     "/cache/.build-1/nvidia/nv.c:300:1: error: another\n"
     "make[2]: *** [scripts/Makefile.build:243: nv.o] Error 1\n",
     "nvidia/nv.c:214:9: error: implicit declaration of function 'f'"},
    {"what NVIDIA's 535.261.03 says on Debian's kernel 6.1.0-56",
     "  CC [M]  /cache/.build-1/nvidia/nv-pci.o\n"
     "/cache/.build-1/nvidia/nv-pci.c: In function \u2018nv_resize_pcie_bars\u2019:\n"
     "/cache/.build-1/nvidia/nv-pci.c:223:9: error: too few arguments to function "
     "\u2018pci_resize_resource\u2019\n"
     "  223 |     r = pci_resize_resource(pci_dev, NV_GPU_BAR1, requested_size);\n",
     "nvidia/nv-pci.c:223:9: error: too few arguments to function \u2018pci_resize_resource\u2019"},
    {"a header that is not there",
     "nvidia/nv.c:3:10: fatal error: drm/drm_drv.h: No such file or directory\n",
     "nvidia/nv.c:3:10: fatal error: drm/drm_drv.h: No such file or directory"},
    {"a symbol that the kernel does not export",
     "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_lock'\n"
     "make[3]: *** [Module.symvers] Error 1\n",
     "ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol 'rcu_read_lock'"},
    {"only make speaks: its first word, not its last",
     "Makefile:8: *** there are no headers for 6.1.  Stop.\n"
     "make: *** [Makefile:3: modules] Error 2\n",
     "Makefile:8: *** there are no headers for 6.1.  Stop."},
    {"nobody says error: the last line", "Building\n\nKilled\n\n", "Killed"},
    {"a compiler that is missing",
     "/bin/sh: 1: gcc-12: command not found\nmake: *** [x] Error 127\n",
     "/bin/sh: 1: gcc-12: command not found"},
    {"control characters and no line feed", "x.c:1:1: error: \x1b[31mbad",
     "x.c:1:1: error:  [31mbad"},
    {"nothing", "", ""},
});

TEST(FirstErrorTest, IsTheOneThatTheOthersFollowFrom) {
  for (const Case& each : kCases) {
    EXPECT_EQ(FirstError(each.log, "/cache/.build-1"), each.error) << each.what;
  }
}

TEST(FirstErrorTest, IsOneLineThatFitsAConditionAndEndsWithAWholeCharacter) {
  const std::string long_line =
      "a.c:1:1: error: " + std::string(280, 'x') + "\u2018\u2019\u2018\u2019";
  const std::string error = FirstError(long_line, "");
  EXPECT_LE(error.size(), 300U);
  EXPECT_TRUE(error.ends_with("x...") || error.ends_with("\u2018...")) << error;
}

}  // namespace
}  // namespace gantry::driver
