// SPDX-License-Identifier: Apache-2.0
#include "operands/cuda_toolkit/cuda_version.h"

#include <gmock/gmock.h>

namespace gantry::cuda_toolkit {
namespace {

using Names = std::vector<std::string>;

std::string Says(const std::string& version) {
  return R"({"cuda": {"name": "CUDA SDK", "version": ")" + version + R"("}})";
}

TEST(ToolkitVersion, Table) {
  const Names runtime_12_4 = {"libcudart.so", "libcudart.so.12", "libcudart.so.12.4.127"};
  const Names runtime_11_4 = {"libcudart.so.11.0", "libcudart.so.11.4.148"};
  struct Case {
    std::string version_json;
    Names runtimes;
    std::string wanted;
    std::string found;
    std::string mistake;  // part of it
  };
  const std::vector<Case> cases = {
      {Says("12.4.1"), runtime_12_4, "12.4", "12.4.1", ""},
      {Says("12.4.1"), runtime_12_4, "12.4.1", "12.4.1", ""},
      {"", runtime_12_4, "12.4.1", "12.4", ""},
      {"", runtime_11_4, "11.4", "11.4", ""},
      {Says("12.6.20241114"), {"libcudart.so.12"}, "12.6.3", "12.6", ""},
      {Says("12.4.0"), runtime_12_4, "12.4.1", "", "it is CUDA 12.4.0, not 12.4.1"},
      {Says("12.4.1"), runtime_12_4, "12.2", "", "it is CUDA 12.4.1, not 12.2"},
      {Says("12.2.2"), runtime_12_4, "12.2", "",
       "version.json says 12.2.2, and libcudart.so, libcudart.so.12, libcudart.so.12.4.127"},
      {Says("12.4.1"), {}, "12.4", "", "no libcudart.so.* in lib64 or lib, only bin, include"},
      {"", {"libcudart.so.12"}, "12.4", "", "nothing says which release it is"},
      {Says("new"), runtime_12_4, "12.4", "", "cuda.version is no version"},
      {Says("12"), runtime_12_4, "12.4", "", "cuda.version is no version"},
      {"{", runtime_12_4, "12.4", "", "read version.json"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.version_json + " wanted " + one.wanted);
    const auto version =
        ToolkitVersion({one.version_json, one.runtimes, {"bin", "include"}}, one.wanted);
    if (one.mistake.empty()) {
      ASSERT_TRUE(version.has_value()) << version.error().message;
      EXPECT_EQ(*version, one.found);
    } else {
      ASSERT_FALSE(version.has_value());
      EXPECT_THAT(version.error().message, testing::HasSubstr(one.mistake));
    }
  }
}

TEST(ReleaseOf, TwoNumbers) {
  EXPECT_EQ(ReleaseOf("12.4"), "12.4");
  EXPECT_EQ(ReleaseOf("12.4.1"), "12.4");
  EXPECT_EQ(ReleaseOf("12"), "");
  EXPECT_EQ(ReleaseOf("x.y"), "");
}

}  // namespace
}  // namespace gantry::cuda_toolkit
