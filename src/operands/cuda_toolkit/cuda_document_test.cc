// SPDX-License-Identifier: Apache-2.0
#include "operands/cuda_toolkit/cuda_document.h"

#include <gmock/gmock.h>

namespace gantry::cuda_toolkit {
namespace {

using testing::ElementsAre;

const std::vector<OfferedCuda> kTwo = {
    {"12.2", "/var/lib/nvidia/cuda/versions/12.2-b", "lib64", {"libcudart.so.12"}},
    {"12.4", "/var/lib/nvidia/cuda/versions/12.4-a", "lib", {"libcudart.so.12", "libx.so.1"}}};

TEST(CudaDocument, ADeviceForEachReleaseAndOneForGpus) {
  const container::CdiSpec spec =
      CudaDocument(kTwo, "12.4", "/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  EXPECT_EQ(spec.kind, "nvidia.com/cuda");
  ASSERT_EQ(spec.devices.size(), 3U);
  EXPECT_EQ(spec.devices[0].name, "12.2");
  EXPECT_EQ(spec.devices[1].name, "12.4");
  EXPECT_EQ(spec.devices[2].name, "default");
  EXPECT_EQ(spec.devices[2].edits, spec.devices[1].edits);

  const container::CdiEdits& edits = spec.devices[1].edits;
  ASSERT_EQ(edits.mounts.size(), 1U);
  EXPECT_EQ(edits.mounts[0].host_path, "/var/lib/nvidia/cuda/versions/12.4-a");
  EXPECT_EQ(edits.mounts[0].container_path, "/opt/nvidia/cuda-12.4");
  EXPECT_THAT(edits.mounts[0].options, testing::Contains("ro"));
  ASSERT_EQ(edits.hooks.size(), 1U);
  EXPECT_EQ(edits.hooks[0].path, "/usr/local/nvidia/toolkit/nvidia-cdi-hook");
  EXPECT_THAT(edits.hooks[0].args,
              ElementsAre("nvidia-cdi-hook", "create-container", "--link-if-absent",
                          "/opt/nvidia/cuda-12.4::/usr/local/cuda-12.4", "--link-if-absent",
                          "cuda-12.4::/usr/local/cuda", "--cuda-library",
                          "libcudart.so.12=/opt/nvidia/cuda-12.4/lib/libcudart.so.12",
                          "--cuda-library", "libx.so.1=/opt/nvidia/cuda-12.4/lib/libx.so.1"));
  EXPECT_TRUE(container::ParseCdi(container::CdiText(spec)).has_value());
}

TEST(CudaDocument, TheHookOfNvidiaCtkIsASubCommand) {
  const container::CdiSpec spec = CudaDocument(kTwo, "12.4", "/usr/bin/nvidia-ctk");
  EXPECT_EQ(spec.devices[0].edits.hooks[0].args[1], "hook");
}

TEST(CudaDocument, WithoutAHookThereIsTheFolderAlone) {
  const container::CdiSpec spec = CudaDocument(kTwo, "13.0", "");
  ASSERT_EQ(spec.devices.size(), 2U);
  EXPECT_TRUE(spec.devices[0].edits.hooks.empty());
  EXPECT_EQ(spec.devices[0].edits.mounts.size(), 1U);
}

}  // namespace
}  // namespace gantry::cuda_toolkit
