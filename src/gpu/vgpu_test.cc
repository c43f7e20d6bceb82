// SPDX-License-Identifier: Apache-2.0
#include "gpu/vgpu.h"

#include <gtest/gtest.h>

namespace gantry::gpu {
namespace {

// A configuration space with a power management capability at 0x60 that is followed by the vGPU's
// at 0x80, which holds a record 1 and then record 0.
std::string VirtualGpu() {
  std::string space(256, '\0');
  const auto put = [&space](size_t at, std::string_view text) {
    space.replace(at, text.size(), text);
  };
  put(0x34, "\x60");
  put(0x60, std::string_view("\x01\x80", 2));
  put(0x80, std::string_view("\x09\x00\x30VF", 5));
  put(0x85, std::string_view("\x01\x04xx", 4));
  put(0x89, std::string_view("\x00\x16", 2));
  put(0x8b, "460.16");
  put(0x95, "r460_00");
  return space;
}

TEST(Vgpu, HostDriverOfAVirtualGpu) {
  EXPECT_EQ(FindVgpuHost(VirtualGpu()), (VgpuHost{"460.16", "r460_00"}));
}

TEST(Vgpu, NoneForAPhysicalGpu) {
  std::string space = VirtualGpu();
  space[0x83] = 'X';
  EXPECT_FALSE(FindVgpuHost(space).has_value());
  EXPECT_FALSE(FindVgpuHost(std::string(256, '\0')).has_value());
  EXPECT_FALSE(FindVgpuHost(std::string(256, '\xff')).has_value());
}

TEST(Vgpu, MalformedSpacesEnd) {
  EXPECT_FALSE(FindVgpuHost("").has_value());
  EXPECT_FALSE(FindVgpuHost(VirtualGpu().substr(0, 64)).has_value());
  std::string loop = VirtualGpu();
  loop[0x61] = 0x60;
  EXPECT_FALSE(FindVgpuHost(loop).has_value());
  std::string empty_record = VirtualGpu();
  empty_record[0x86] = 0;
  EXPECT_FALSE(FindVgpuHost(empty_record).has_value());
  std::string cut = VirtualGpu();
  cut[0x82] = 0x10;
  EXPECT_FALSE(FindVgpuHost(cut).has_value());
}

}  // namespace
}  // namespace gantry::gpu
