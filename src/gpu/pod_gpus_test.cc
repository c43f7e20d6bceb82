// SPDX-License-Identifier: Apache-2.0
#include "gpu/pod_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/gpus.h"

namespace gantry::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// GPU-0 with minor 10, and GPU-1 with minor 11, which is divided.
std::vector<Gpu> Machine() {
  std::vector<Gpu> gpus = Gpus(2);
  gpus[1].mig_enabled = true;
  for (const auto& [uuid, gpu_instance] : {std::pair("MIG-1", 7U), std::pair("MIG-2", 9U)}) {
    nvml::MigDevice& device = gpus[1].mig_devices.emplace_back();
    device.uuid = uuid;
    device.gpu_instance = gpu_instance;
  }
  return gpus;
}

Holders Of(const std::string& resource, const std::string& id) {
  return HoldersOf(
      {{.ns = "team",
        .name = "job",
        .containers = {{.name = "main", .devices = {{.resource = resource, .ids = {id}}}}}}},
      Machine(), {"example.com/gpu"});
}

TEST(PodGpus, EveryFormOfAnId) {
  struct Row {
    const char* resource;
    const char* id;
    GpuPart part;
    const char* replica;
  };
  const Row rows[] = {
      {"nvidia.com/gpu", "GPU-0", {"GPU-0"}, ""},
      {"nvidia.com/gpu", "GPU-0::2", {"GPU-0"}, "2"},
      {"nvidia.com/gpu.shared", "GPU-0::0", {"GPU-0"}, "0"},
      {"nvidia.com/gpu", "nvidia10", {"GPU-0"}, ""},
      {"nvidia.com/gpu", "nvidia10/vgpu1", {"GPU-0"}, "1"},
      {"nvidia.com/gpu", "nvidia11/gi7", {"GPU-1", 7}, ""},
      {"nvidia.com/gpu", "nvidia11/gi7/vgpu4", {"GPU-1", 7}, "4"},
      {"nvidia.com/mig-1g.10gb", "MIG-2", {"GPU-1", 9}, ""},
      {"nvidia.com/gpu", "MIG-1::3", {"GPU-1", 7}, "3"},
      {"nvidia.com/mig-1g.5gb", "MIG-GPU-1/9/0", {"GPU-1", 9}, ""},
      {"example.com/gpu", "GPU-0", {"GPU-0"}, ""},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(
        Of(row.resource, row.id),
        ElementsAre(Pair(row.part, ElementsAre(Holder{"team", "job", "main", row.replica}))))
        << row.resource << " " << row.id;
  }
}

TEST(PodGpus, WhatIsNoGpuOfThisNodeIsLeftOut) {
  for (const char* id : {"GPU-c", "nvidia4", "nvidia", "nvidia11/gix", "MIG-3", "MIG-GPU-1/9",
                         "MIG-GPU-c/9/0", "", "::1"}) {
    EXPECT_THAT(Of("nvidia.com/gpu", id), IsEmpty()) << id;
  }
  EXPECT_THAT(Of("example.com/nic", "GPU-0"), IsEmpty());
}

TEST(PodGpus, SharesStayInTheKubeletsOrder) {
  const Holders holders = HoldersOf(
      {{.ns = "b", .name = "2", .containers = {{"c", {{"nvidia.com/gpu", {"GPU-0::1"}}}}}},
       {.ns = "a", .name = "1", .containers = {{"c", {{"nvidia.com/gpu", {"GPU-0::0"}}}}}}},
      Machine(), {});
  EXPECT_THAT(holders.at({"GPU-0"}),
              ElementsAre(Holder{"b", "2", "c", "1"}, Holder{"a", "1", "c", "0"}));
}

}  // namespace
}  // namespace gantry::gpu
