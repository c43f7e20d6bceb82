// SPDX-License-Identifier: Apache-2.0
// What is served while other things change around it.
#include "operands/device_plugin/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_folder.h"
#include "operands/device_plugin/testing/settings.h"

namespace gantry::device_plugin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Nodes(const kubelet::PluginResource& resource) {
  std::vector<std::string> nodes;
  const auto got = resource.allocator->Allocate({"GPU-0"});
  for (const auto& device : got.value_or(kubelet::Allocation{}).devices) {
    nodes.push_back(device.container_path);
  }
  return nodes;
}

TEST(Offer, ControlNodesAreThoseOfTheMomentOfTheAnswer) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  std::filesystem::create_directory(root + "/dev");
  std::ofstream(root + "/dev/nvidiactl") << "";
  auto settings = With({ListStrategy::kEnvVar});
  settings.pass_device_specs = true;
  settings.driver.dev_root_here = root;
  const auto set = SetOf(Gpus(1));
  const auto offered = OfferedResources(set, settings, {});
  const auto last = std::make_shared<LastAllocate>();
  const auto resource = Offer(offered.resources.at(0), set, settings, {}, last);
  EXPECT_EQ(last->at(), SteadyTime());
  const SteadyTime before = RealClock().Now();
  EXPECT_THAT(Nodes(resource), ElementsAre("/dev/nvidiactl", "/dev/nvidia10"));
  EXPECT_GE(last->at(), before);
  std::ofstream(root + "/dev/nvidia-uvm") << "";
  EXPECT_THAT(Nodes(resource), ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia10"));
  settings.pass_device_specs = false;
  EXPECT_THAT(Nodes(Offer(offered.resources.at(0), set, settings, {}, last)), IsEmpty());
}

TEST(Offer, WhatIsServedTakesTheHealthOfNow) {
  const auto set = SetOf(Gpus(3));
  const auto whole = With({ListStrategy::kCdiCri});
  const auto before = OfferedResources(set, whole, {"GPU-2"});
  std::vector<kubelet::PluginResource> served = {
      Offer(before.resources.at(0), set, whole, {}, std::make_shared<LastAllocate>())};
  const auto healthy = [&served] {
    std::vector<bool> all;
    for (const auto& device : served.at(0).devices) {
      all.push_back(device.healthy);
    }
    return all;
  };
  EXPECT_THAT(healthy(), ElementsAre(true, true, false));
  TakeHealth(OfferedResources(set, whole, {"GPU-1"}).resources, served);
  EXPECT_THAT(healthy(), ElementsAre(true, false, true));
  // Another resource, to which the same GPUs belong by now: for their users nothing changes.
  TakeHealth(OfferedResources(set, Shared(2, true), {"GPU-0"}).resources, served);
  EXPECT_THAT(healthy(), ElementsAre(false, true, true));
  TakeHealth(OfferedResources(SetOf(Gpus(1)), whole, {}).resources, served);
  EXPECT_THAT(healthy(), ElementsAre(true, false, false)) << "what is gone";
}

}  // namespace
}  // namespace gantry::device_plugin
