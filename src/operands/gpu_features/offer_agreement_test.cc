// SPDX-License-Identifier: Apache-2.0
// What the labels say of a node's GPUs is what its device plugin offers (gpu/for_containers.h):
// over machines, MIG strategies and ways of sharing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "gpu/for_containers.h"
#include "operands/gpu_features/labels.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

using policy::MigStrategy;

struct Machine {
  std::string name;
  std::vector<nvml::Device> gpus;
};

nvml::Device GpuWith(const std::string& name, const std::vector<std::string>& mig, bool mig_mode) {
  nvml::Device gpu;
  gpu.name = name;
  gpu.memory_bytes = uint64_t{80} << 30;
  gpu.compute_major = 8;
  gpu.mig = mig_mode ? nvml::MigMode::kEnabled : nvml::MigMode::kDisabled;
  for (const std::string& profile : mig) {
    nvml::MigDevice& device = gpu.mig_devices.emplace_back();
    device.profile = profile;
    device.attributes.memory_mib = 9728;
  }
  return gpu;
}
nvml::Device Whole(const std::string& name = "NVIDIA A100-SXM4-80GB") {
  return GpuWith(name, {}, false);
}
nvml::Device Divided(const std::vector<std::string>& mig) {
  return GpuWith("NVIDIA A100-SXM4-80GB", mig, true);
}
nvml::Device Display() { return GpuWith("NVIDIA DGX Display", {}, false); }

std::vector<Machine> Machines() {
  const auto small = Divided({"1g.10gb", "1g.10gb", "1g.10gb"});
  std::vector<Machine> machines = {
      {"whole", {Whole(), Whole()}},
      {"two products", {Whole("Tesla T4"), Whole(), Whole()}},
      {"old", {Whole("Tesla P100"), Whole("Tesla P100")}},
      {"all divided alike", {small, small}},
      {"divided in two ways", {small, Divided({"3g.40gb", "3g.40gb"})}},
      {"two profiles on one", {Divided({"3g.40gb", "1g.10gb", "1g.10gb+me"})}},
      {"split instances", {Divided({"1c.3g.40gb", "1c.3g.40gb", "3g.40gb"})}},
      {"one whole, one divided", {Whole(), small}},
      {"one divided, one still empty", {small, Divided({})}},
      {"one whole, one still empty", {Whole(), Divided({})}},
      {"all still empty", {Divided({}), Divided({})}},
      {"a display alone", {Display()}},
  };
  for (nvml::Device& gpu : machines[2].gpus) {
    gpu.compute_major = 6;
  }
  for (Machine& machine : machines) {
    for (size_t i = 0; i < machine.gpus.size(); ++i) {
      auto& gpu = machine.gpus[i];
      gpu.index = static_cast<unsigned>(i);
      gpu.uuid = format("GPU-{}", i);
      for (size_t n = 0; n < gpu.mig_devices.size(); ++n) {
        gpu.mig_devices[n].index = static_cast<unsigned>(n);
        gpu.mig_devices[n].uuid = format("MIG-{}-{}", i, n);
      }
    }
  }
  return machines;
}

std::vector<policy::Sharing> Sharings() {
  std::vector<policy::Sharing> sharings(1);
  for (const char* text : {
           "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
           "sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, "
           "replicas: 4}, {name: nvidia.com/mig-1g.10gb, replicas: 3}]}}",
           "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, devices: "
           "[0]}]}}",
           "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, devices: "
           "[9]}]}}",
           "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 100000}]}}",
           "sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
           "sharing: {mps: {renameByDefault: true, resources: [{name: nvidia.com/gpu, "
           "replicas: 20}]}}",
           "sharing: {mps: {resources: [{name: nvidia.com/mig-1g.10gb, replicas: 4}]}}",
       }) {
    sharings.push_back(policy::ParsePluginConfig(text).value().sharing);
  }
  return sharings;
}

Facts FactsOf(std::vector<nvml::Device> gpus) {
  Facts facts;
  facts.driver_version = "535.183.01";
  facts.cuda_version = 12020;
  facts.gpus = std::move(gpus);
  return facts;
}

struct Offer {
  int devices = 0;  // before they are shared
  int replicas = 0;
};

Offer OfferOf(const gpu::ForContainers& found, const std::vector<gpu::Gpu>& gpus,
              const std::string& resource, const std::string& product) {
  Offer offer;
  for (const auto& one : found.offered) {
    for (const auto& unit : one.units) {
      if (one.resource == resource && (unit.is_mig() || gpus[unit.gpu_at].name == product)) {
        ++offer.devices;
        offer.replicas = std::max(offer.replicas, unit.replicas);
      }
    }
  }
  return offer;
}

void ExpectResource(const LabelMap& labels, const std::string& resource, const Offer& offer,
                    const policy::Sharing& sharing, int beside) {
  const auto label = [&](const std::string& name) { return labels.at(resource + "." + name); };
  EXPECT_EQ(label("count"), format("{}", offer.devices + beside));
  EXPECT_EQ(label("replicas"), format("{}", offer.replicas));
  const bool invalid = label("product").ends_with("-MIG-INVALID");
  const bool shared = offer.replicas > 1;
  EXPECT_EQ(
      label("sharing-strategy"),
      invalid ? "" : policy::Name(shared ? sharing.strategy : policy::SharingStrategy::kNone));
  EXPECT_EQ(label("product").ends_with("-SHARED"), shared && !sharing.rename_by_default);
  EXPECT_LE(label("product").size(), 63U);
  EXPECT_TRUE(!invalid || offer.devices == 0);
}

TEST(Labels, AgreeWithWhatThePluginOffers) {
  for (const Machine& machine : Machines()) {
    std::vector<gpu::Gpu> gpus;
    for (const auto& device : machine.gpus) {
      gpus.push_back(gpu::FromNvml(device));
    }
    int sharing_number = 0;
    for (const policy::Sharing& sharing : Sharings()) {
      ++sharing_number;
      for (const auto strategy : {MigStrategy::kNone, MigStrategy::kSingle, MigStrategy::kMixed}) {
        SCOPED_TRACE(
            format("{}, {}, sharing {}", machine.name, policy::Name(strategy), sharing_number));
        const auto found = gpu::GpusForContainers(gpus, strategy, sharing);
        const auto labels =
            GpuLabels(FactsOf(machine.gpus),
                      {.mig_strategy = strategy, .sharing = sharing, .timestamp = std::nullopt})
                .labels;
        if (!labels.contains(names::kGpuProduct)) {
          EXPECT_TRUE(found.offered.empty());
          continue;
        }
        const std::string product =
            machine.name == "two products" ? "NVIDIA A100-SXM4-80GB" : machine.gpus[0].name;
        int in_mig_mode = 0;
        for (const auto& gpu : gpus) {
          in_mig_mode += gpu.mig_enabled && strategy != MigStrategy::kSingle ? 1 : 0;
        }
        ExpectResource(labels, names::kGpuResource,
                       OfferOf(found, gpus, names::kGpuResource, product), sharing, in_mig_mode);
        if (strategy != MigStrategy::kMixed) {
          continue;
        }
        for (const auto& one : found.offered) {
          EXPECT_TRUE(labels.contains(one.resource + ".count")) << one.resource;
        }
        for (const auto& [key, value] : labels) {
          if (key.starts_with(names::kMigResourcePrefix) && key.ends_with(".count")) {
            const std::string resource = key.substr(0, key.size() - std::string(".count").size());
            ExpectResource(labels, resource, OfferOf(found, gpus, resource, product), sharing, 0);
          }
        }
      }
    }
  }
}

// The display of a DGX Station changes no label.
TEST(Labels, Kdp731_AreTheSameWithADisplayBesideTheGpus) {
  for (const Machine& machine : Machines()) {
    if (machine.name == "a display alone") {
      continue;
    }
    auto with_display = machine.gpus;
    with_display.push_back(Display());
    with_display.back().index = static_cast<unsigned>(machine.gpus.size());
    for (const policy::Sharing& sharing : Sharings()) {
      for (const auto strategy : {MigStrategy::kNone, MigStrategy::kSingle, MigStrategy::kMixed}) {
        const LabelOptions options = {
            .mig_strategy = strategy, .sharing = sharing, .timestamp = std::nullopt};
        EXPECT_EQ(GpuLabels(FactsOf(with_display), options).labels,
                  GpuLabels(FactsOf(machine.gpus), options).labels)
            << machine.name << " " << policy::Name(strategy);
      }
    }
  }
}

}  // namespace
}  // namespace gantry::gpu_features
