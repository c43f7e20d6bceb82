// SPDX-License-Identifier: Apache-2.0
// The content of the documents that the plugin writes, by its settings.
#include "operands/device_plugin/cdi_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "operands/device_plugin/testing/settings.h"

namespace gantry::device_plugin {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CdiFileTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"/usr/lib64/libcuda.so.535.1", "/usr/lib64/libOpenCL.so.1.0.0",
                             "/run/nvidia-persistenced/socket"}) {
      fs::create_directories(fs::path(root_ + file).parent_path());
      std::ofstream(root_ + file) << file;
    }
    settings_ = With({ListStrategy::kCdiCri});
    settings_.driver = {"/", root_, "/", root_};
  }

  // The document with these feature flags.
  std::string Document(const std::vector<std::string>& features,
                       const container::CdiEdits& more = {}) {
    settings_.cdi_features = features;
    gpu::GpuSet set = SetOf(Gpus(1));
    set.gpus[0].coherent = true;
    Unit unit;
    unit.uuid = set.gpus[0].uuid;
    const auto written = WriteCdi(root_ + "/cdi", root_, settings_, hook_, set, {unit}, {}, more);
    return written ? ReadFile(CdiPath(root_ + "/cdi")).value_or("(absent)")
                   : written.error().message;
  }

  const TempFolder temporary_;
  const std::string root_ = temporary_.path();
  Settings settings_;
  container::HookProgram hook_ = {"/usr/bin/nvidia-ctk"};
};

TEST_F(CdiFileTest, FeatureFlags) {
  EXPECT_THAT(Document({}), AllOf(HasSubstr("libcuda.so.535.1"), HasSubstr("persistenced/socket"),
                                  Not(HasSubstr("libOpenCL")), Not(HasSubstr("coherent"))));
  EXPECT_THAT(Document({"enable-explicit-driver-libraries"}), HasSubstr("libOpenCL.so.1.0.0"));
  EXPECT_THAT(Document({"disable-ipc-discoverer"}), Not(HasSubstr("persistenced/socket")));
  EXPECT_THAT(Document({"enable-coherent-annotations"}),
              HasSubstr(R"("gpu.nvidia.com/coherent": "true")"));
  EXPECT_EQ(Document({"disable-nvsandboxutils", "of-tomorrow"}), Document({}));
}

// A program that does not know a hook ends with an error or leaves it undone.
TEST_F(CdiFileTest, HooksAreThoseThatTheProgramOfTheNodeKnows) {
  container::CdiEdits cuda;
  cuda.env = {"CUDA=1"};
  cuda.hooks = {{"createContainer", "/t/nvidia-cdi-hook", {"nvidia-cdi-hook", "of-gantry"}, {}}};
  EXPECT_THAT(Document({}, cuda),
              AllOf(HasSubstr("enable-cuda-compat"), HasSubstr("CUDA=1"),
                    Not(HasSubstr("create-container")), Not(HasSubstr("of-gantry"))));
  hook_.ours = true;
  EXPECT_THAT(Document({}, cuda), AllOf(Not(HasSubstr("enable-cuda-compat")), HasSubstr("CUDA=1"),
                                        HasSubstr("create-container"), HasSubstr("of-gantry")));
}

}  // namespace
}  // namespace gantry::device_plugin
