// SPDX-License-Identifier: Apache-2.0
// NVIDIA_DRIVER_CAPABILITIES decides which parts of the driver a container gets.
#include "container/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Capabilities, Words) {
  EXPECT_EQ(ParseCapabilities("compute,utility", {})->bits,
            unsigned{Capabilities::kCompute} | Capabilities::kUtility);
  EXPECT_EQ(ParseCapabilities(" compute ,, utility,", {})->bits,
            unsigned{Capabilities::kCompute} | Capabilities::kUtility);
  EXPECT_EQ(ParseCapabilities(",", {})->bits, 0U);
  EXPECT_EQ(ParseCapabilities("all", {})->bits, unsigned{Capabilities::kAll});
  EXPECT_EQ(ParseCapabilities("all", {Capabilities::kVideo})->bits, unsigned{Capabilities::kVideo})
      << "all is what is supported";
  EXPECT_THAT(ParseCapabilities("compute,magic", {}).error().message, HasSubstr("magic is none"));
  EXPECT_THAT(ParseCapabilities("video", {Capabilities::kCompute}).error().message,
              HasSubstr("not among the supported"));
}

TEST(Capabilities, OfFiles) {
  const std::vector<std::pair<std::string, unsigned>> table = {
      {"/usr/lib64/libcuda.so.535.1", Capabilities::kCompute},
      {"/usr/lib64/libnvidia-ml.so.535.1", Capabilities::kUtility},
      {"/usr/lib64/libnvcuvid.so.535.1", Capabilities::kVideo},
      {"/usr/lib64/libnvidia-ngx.so.535.1", Capabilities::kNgx},
      {"/usr/lib64/libGLX_nvidia.so.535.1", Capabilities::kGraphics | Capabilities::kDisplay},
      {"/usr/bin/nvidia-smi", Capabilities::kUtility},
      {"/usr/bin/nvidia-cuda-mps-server", Capabilities::kCompute},
      {"/run/nvidia-persistenced/socket", Capabilities::kUtility},
      {"/dev/nvidia-uvm", Capabilities::kCompute},
      {"/dev/nvidia-modeset", Capabilities::kGraphics | Capabilities::kDisplay},
      {"/dev/dri/card1", Capabilities::kGraphics | Capabilities::kDisplay},
      {"/etc/vulkan/icd.d/nvidia_icd.json", Capabilities::kGraphics | Capabilities::kDisplay},
      {"/dev/nvidiactl", Capabilities::kAll},
      {"/dev/nvidia0", Capabilities::kAll},
      {"/usr/lib64/libnvidia-of-tomorrow.so.999", Capabilities::kAll},
  };
  for (const auto& [path, bits] : table) {
    EXPECT_EQ(CapabilitiesOf(path).bits, bits) << path;
  }
}

TEST(Capabilities, KeepOnlyWhatIsWanted) {
  CdiEdits edits;
  edits.device_nodes = {{"/dev/nvidia0", ""}, {"/dev/nvidia-uvm", ""}, {"/dev/dri/card1", ""}};
  edits.mounts = {{"/h/libcuda.so.1.2", "/lib/libcuda.so.1.2", {}},
                  {"/h/libnvidia-ml.so.1.2", "/lib/libnvidia-ml.so.1.2", {}}};
  edits.hooks = {{"createContainer",
                  "/h",
                  {"h", "create-container", "--link", "libcuda.so.1::/lib/libcuda.so", "--library",
                   "libcuda.so.1=/lib/libcuda.so.1.2", "--library",
                   "libnvidia-ml.so.1=/lib/libnvidia-ml.so.1.2", "--folder", "/lib"},
                  {}}};
  const CdiEdits whole = edits;
  KeepCapabilities({Capabilities::kUtility}, edits);
  EXPECT_THAT(edits.device_nodes, ElementsAre(CdiDeviceNode{"/dev/nvidia0", ""}));
  ASSERT_EQ(edits.mounts.size(), 1U);
  EXPECT_EQ(edits.mounts[0].container_path, "/lib/libnvidia-ml.so.1.2");
  EXPECT_THAT(edits.hooks[0].args,
              ElementsAre("h", "create-container", "--library",
                          "libnvidia-ml.so.1=/lib/libnvidia-ml.so.1.2", "--folder", "/lib"));
  edits = whole;
  KeepCapabilities({}, edits);
  EXPECT_EQ(edits, whole);
}

}  // namespace
}  // namespace gantry::container
