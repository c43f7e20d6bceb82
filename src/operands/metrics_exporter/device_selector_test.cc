// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/device_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/testing/gpus.h"

namespace gantry::metrics_exporter {
namespace {

using ::testing::HasSubstr;

// A GPU that is not divided, and one with the GPU instances 2, 5 and 9; 5 has two compute
// instances.
gpu::GpuSet Node() {
  gpu::GpuSet set;
  set.gpus = gpu::Gpus(2);
  set.gpus[1].mig_enabled = true;
  for (const unsigned instance : {5U, 5U, 9U, 2U}) {
    nvml::MigDevice mig;
    mig.gpu_instance = instance;
    set.gpus[1].mig_devices.push_back(mig);
  }
  return set;
}

// "0 1[2,5]": the GPUs with series of their own, and in brackets the instances with series.
std::string Series(std::string_view devices) {
  const auto selector = ParseDevices(devices);
  if (!selector) {
    return selector.error().message;
  }
  std::vector<std::string> all;
  for (const gpu::Gpu& gpu : Node().gpus) {
    const auto selected = Select(*selector, gpu);
    if (!selected) {
      continue;
    }
    std::vector<std::string> instances;
    for (const auto& mig : selected->gpu.mig_devices) {
      instances.push_back(std::to_string(mig.gpu_instance));
    }
    all.push_back((selected->own_series ? std::to_string(gpu.index) : "") +
                  (selected->gpu.mig_enabled ? "[" + Join(instances, ",") + "]" : ""));
  }
  return Join(all, " ");
}

TEST(DeviceSelector, SelectsGpusAndInstances) {
  struct Row {
    const char* devices;
    const char* series;
  };
  for (const Row& row :
       {Row{"f", "0 1[5,5,9,2]"}, Row{"g", "0 1"}, Row{"i", "[5,5,9,2]"}, Row{"g:1", "1"},
        Row{"g:0-1", "0 1"}, Row{"i:8", "[2]"}, Row{"i:9-10", "[5,5,9]"}, Row{"g:0+i:10", "0 [9]"},
        Row{"i:8,10+g:1", "1[9,2]"}, Row{"g+i", "0 1[5,5,9,2]"}}) {
    EXPECT_EQ(Series(row.devices), row.series) << row.devices;
  }
}

TEST(DeviceSelector, MistakesAreNamed) {
  for (const char* wrong : {"", "x", "f:0", "f+g", "g:", "g:x", "g:-1", "g:3-1", "g:1,,2", "g0",
                            "g+g", "g:99999", "i:0+", "g:1-2-3"}) {
    EXPECT_THAT(Series(wrong), HasSubstr("is not f, g, i")) << wrong;
  }
}

TEST(DeviceSelector, IdsThatDoNotExistAreNamed) {
  const auto message = [](std::string_view devices) {
    const Status present = CheckPresent(*ParseDevices(devices), Node());
    return present ? "" : present.error().message;
  };
  for (const char* right : {"f", "g", "i", "g:0-1", "i:8-10"}) {
    EXPECT_EQ(message(right), "") << right;
  }
  EXPECT_EQ(message("g:1-4"), "--devices: there is no GPU 2; there are: 0, 1");
  EXPECT_EQ(message("i:0"), "--devices: there is no GPU instance 0; there are: 8, 9, 10");
  // One that can't be read exists.
  gpu::GpuSet broken = Node();
  broken.failed.push_back({.index = 2, .uuid = "", .reason = ""});
  EXPECT_TRUE(CheckPresent(*ParseDevices("g:2"), broken).has_value());
}

}  // namespace
}  // namespace gantry::metrics_exporter
