// SPDX-License-Identifier: Apache-2.0
#include "policy/cuda_source.h"

#include <gmock/gmock.h>

namespace gantry::policy {
namespace {

constexpr char kOurs[] = "registry/nvidia/cuda";

TEST(ChooseCudaSource, Table) {
  const Json path = {{"hostPath", {{"path", "/opt/cuda"}}}};
  const Json claim = {{"persistentVolumeClaim", {{"claimName", "cuda"}}}};
  struct Case {
    CudaSpec spec;
    std::string version;
    std::string image;
    std::string mistake;  // part of it
  };
  const std::vector<Case> cases = {
      {{"", "", "11.4", {}}, "11.4", "registry/nvidia/cuda:11.4.3-devel-ubuntu20.04", ""},
      {{"", "", "12.4", {}}, "12.4", "registry/nvidia/cuda:12.4.1-devel-ubuntu22.04", ""},
      {{"", "", "11.7.0", {}}, "11.7.0", "registry/nvidia/cuda:11.7.0-devel-ubuntu22.04", ""},
      {{"", "", "13.0", {}}, "13.0", "registry/nvidia/cuda:13.0.1-devel-ubuntu24.04", ""},
      {{"", "", "12.4.1-base-ubi9", {}}, "12.4.1", "registry/nvidia/cuda:12.4.1-base-ubi9", ""},
      {{"r/p", "cuda", "12.4.1-x", {}}, "12.4.1", "r/p/cuda:12.4.1-x", ""},
      {{"", "r/cuda@sha256:1", "12.2", {}}, "12.2", "r/cuda@sha256:1", ""},
      {{"", "", "12.2", path}, "12.2", "", ""},
      {{"", "", "12.2", claim}, "12.2", "", ""},
      {{"", "", "", {}}, "", "", "spec.cuda.version: which CUDA"},
      {{"", "", "latest", {}}, "", "", "spec.cuda.version: \"latest\" does not begin"},
      {{"", "", "12", {}}, "", "", "spec.cuda.version: \"12\""},
      {{"", "", "12.-4", {}}, "", "", "spec.cuda.version: \"12.-4\""},
      {{"", "", "12..4", {}}, "", "", "spec.cuda.version: \"12..4\""},
      {{"", "", "12.7", {}}, "", "", "spec.cuda.version: the last patch of 12.7"},
      {{"r", "", "12.4", {}}, "", "", "spec.cuda.image: is needed with repository"},
      {{"", "i", "12.4", path}, "", "", "spec.cuda.volume: CUDA comes from an image or"},
      {{"", "", "12.4", {{"nfs", 1}}}, "", "", "spec.cuda.volume: hostPath.path or"},
      {{"", "", "12.4", {{"hostPath", {{"path", "x"}}}}}, "", "", "spec.cuda.volume.hostPath.path"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.spec.version + " " + one.spec.image);
    const auto source = ChooseCudaSource(one.spec, kOurs);
    if (!one.mistake.empty()) {
      ASSERT_FALSE(source.has_value());
      EXPECT_THAT(source.error().message, testing::HasSubstr(one.mistake));
      continue;
    }
    ASSERT_TRUE(source.has_value()) << source.error().message;
    EXPECT_EQ(source->version, one.version);
    EXPECT_EQ(source->image, one.image);
    EXPECT_EQ(TextAt(source->volume, "hostPath.path"), TextAt(one.spec.volume, "hostPath.path"));
    EXPECT_EQ(TextAt(source->volume, "persistentVolumeClaim.claimName"),
              TextAt(one.spec.volume, "persistentVolumeClaim.claimName"));
    EXPECT_EQ(source->volume.is_null(), one.spec.volume.is_null());
  }
}

TEST(ChooseCudaSource, WithoutAnImageOfOursOneIsNeeded) {
  const auto source = ChooseCudaSource({"", "", "12.4", {}}, "");
  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().message, testing::HasSubstr("spec.cuda.image"));
}

}  // namespace
}  // namespace gantry::policy
