// SPDX-License-Identifier: Apache-2.0
// Labels are tested by folders of tests/golden/gpu_features: input.json (facts, and under "options"
// migStrategy and timestamp), config.yaml (the device plugin's, if any) and `labels`, what must
// come out. GANTRY_ACCEPT=1 writes what came out.
#include "operands/gpu_features/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/text.h"
#include "operands/gpu_features/resource_labels.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kGolden[] = "tests/golden/gpu_features";

class Golden : public testing::TestWithParam<std::string> {};

LabelOptions OptionsOf(const Json& input, const std::string& folder) {
  LabelOptions options;
  options.mig_strategy =
      policy::ParseMigStrategy(TextAt(input, "options.migStrategy", "none")).value();
  if (At(input, "options.timestamp") != nullptr) {
    options.timestamp = IntAt(input, "options.timestamp", 0);
  }
  options.sharing =
      policy::ParsePluginConfig(ReadFile(folder + "/config.yaml").value_or("")).value().sharing;
  return options;
}

TEST_P(Golden, Labels) {
  const std::string folder = std::string(kGolden) + "/" + GetParam();
  const Json input = ParseJson(ReadFile(folder + "/input.json").value()).value();
  const Facts facts = FactsFromJson(*At(input, "facts")).value();
  const Labelled labelled = GpuLabels(facts, OptionsOf(input, folder));
  std::string text;
  for (const auto& [key, value] : labelled.labels) {
    text += key + "=" + value + "\n";
  }
  for (const std::string& warning : labelled.warnings) {
    text += "warning: " + warning + "\n";
  }
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    std::ofstream(folder + "/labels") << text;
  }
  EXPECT_EQ(text, ReadFile(folder + "/labels").value_or(""));
}

INSTANTIATE_TEST_SUITE_P(
    Case, Golden, testing::ValuesIn(ListDirectory(kGolden).value_or(std::vector<std::string>{})),
    [](const auto& each) { return each.param; });

TEST(Golden, ThereAreCases) { EXPECT_GE(ListDirectory(kGolden).value().size(), 8U); }

nvml::Device Gpu(unsigned index, const std::string& name, int major = 8, int minor = 0) {
  nvml::Device gpu;
  gpu.index = index;
  gpu.name = name;
  gpu.pci_bus_id = format("0000:{:02x}:00.0", index + 1);
  gpu.memory_bytes = 16ULL << 30;
  gpu.compute_major = major;
  gpu.compute_minor = minor;
  return gpu;
}

Facts With(std::vector<nvml::Device> gpus) {
  Facts facts;
  facts.driver_version = "535.183.01";
  facts.cuda_version = 12020;
  facts.gpus = std::move(gpus);
  return facts;
}

TEST(GpuLabels, FamilyByComputeCapability) {
  const std::pair<std::pair<int, int>, const char*> kFamilies[] = {
      {{1, 3}, "tesla"},      {{2, 0}, "fermi"},        {{3, 7}, "kepler"}, {{5, 2}, "maxwell"},
      {{6, 1}, "pascal"},     {{7, 0}, "volta"},        {{7, 5}, "turing"}, {{8, 0}, "ampere"},
      {{8, 6}, "ampere"},     {{8, 9}, "ada-lovelace"}, {{9, 0}, "hopper"}, {{10, 0}, "blackwell"},
      {{11, 0}, "undefined"}, {{12, 0}, "blackwell"},   {{13, 0}, "rubin"}, {{4, 0}, "undefined"}};
  for (const auto& [capability, family] : kFamilies) {
    const auto labels =
        GpuLabels(With({Gpu(0, "X", capability.first, capability.second)}), {}).labels;
    EXPECT_EQ(labels.at(names::kGpuFamily), family) << capability.first << capability.second;
  }
}

TEST(GpuLabels, WhatTheDriverDoesNotTellIsLeftOut) {
  Facts facts = With({Gpu(0, "X", 0, 0)});
  facts.gpus[0].memory_bytes = 0;
  const auto labels = GpuLabels(facts, {}).labels;
  for (const char* name :
       {names::kGpuMemory, names::kGpuFamily, names::kGpuComputeMajor, names::kGpuComputeMinor,
        names::kVgpuPresent, names::kGpuClique, names::kGfdTimestamp, names::kMigStrategy}) {
    EXPECT_FALSE(labels.contains(name)) << name;
  }
}

TEST(GpuLabels, OrderOfTheGpusDoesNotChangeTheLabels) {
  const Facts two = With({Gpu(0, "A"), Gpu(1, "B"), Gpu(2, "B")});
  EXPECT_EQ(GpuLabels(two, {}).labels.at(names::kGpuProduct), "B");
  EXPECT_EQ(GpuLabels(two, {}).labels.at(names::kGpuCount), "2");
  const Facts equal = With({Gpu(0, "B"), Gpu(1, "A"), Gpu(2, "A"), Gpu(3, "B")});
  EXPECT_EQ(GpuLabels(equal, {}).labels.at(names::kGpuProduct), "B");
}

TEST(GpuLabels, AGpuThatDoesNotAnswerIsStillCounted) {
  Facts facts = With({Gpu(0, "A"), Gpu(1, "A")});
  facts.failed_gpus = 1;
  EXPECT_EQ(GpuLabels(facts, {}).labels.at(names::kGpuCount), "3");
  // Of which product it is cannot be told here.
  facts.gpus.push_back(Gpu(2, "B"));
  EXPECT_EQ(GpuLabels(facts, {}).labels.at(names::kGpuCount), "2");
}

TEST(GpuLabels, ModeIsOfAllGpus) {
  Facts facts = With({Gpu(0, "A"), Gpu(1, "A")});
  const auto mode = [&] { return GpuLabels(facts, {}).labels.at(names::kGpuMode); };
  EXPECT_EQ(mode(), "unknown");
  facts.pci_classes = {
      {"0000:01:00.0", 0x030200}, {"0000:02:00.0", 0x030200}, {"0000:09:00.0", 0x068000}};
  EXPECT_EQ(mode(), "compute");
  facts.pci_classes["0000:02:00.0"] = 0x030000;
  EXPECT_EQ(mode(), "unknown");
  facts.pci_classes["0000:01:00.0"] = 0x030000;
  EXPECT_EQ(mode(), "graphics");
}

TEST(GpuLabels, SeveralCliquesAreNone) {
  Facts facts = With({Gpu(0, "A"), Gpu(1, "A")});
  facts.gpus[0].fabric = nvml::Fabric{"7b968a6d-0001-0002-0003-000000000004", 1};
  EXPECT_EQ(GpuLabels(facts, {}).labels.at(names::kGpuClique),
            "7b968a6d-0001-0002-0003-000000000004.1");
  facts.gpus[1].fabric = nvml::Fabric{"7b968a6d-0001-0002-0003-000000000004", 2};
  const Labelled two = GpuLabels(facts, {});
  EXPECT_FALSE(two.labels.contains(names::kGpuClique));
  EXPECT_THAT(two.warnings, ElementsAre(HasSubstr("2 cliques")));
}

TEST(LabelValue, IsValidForKubernetes) {
  EXPECT_EQ(LabelValue("NVIDIA H100 80GB HBM3"), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(LabelValue(" Quadro RTX  6000/8000 (rev\n"), "Quadro-RTX-60008000-rev");
  EXPECT_EQ(LabelValue("Foo / Bar"), "Foo-Bar");
  EXPECT_EQ(LabelValue("_.x.-"), "x");
  EXPECT_EQ(LabelValue("()"), "");
  const std::string longest = LabelValue(std::string(80, 'a'), "-SHARED");
  EXPECT_EQ(longest, std::string(56, 'a') + "-SHARED");
  EXPECT_EQ(LabelValue(std::string(62, 'a') + " b"), std::string(62, 'a'));
}

// Kubernetes takes 63 characters; what tells a part or a share from the whole GPU is not cut.
TEST(LabelValue, ALongProductKeepsItsSuffix) {
  Facts facts =
      With({Gpu(0, "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition, later name")});
  policy::Sharing sharing;
  sharing.strategy = policy::SharingStrategy::kTimeSlicing;
  sharing.resources = {{.name = names::kGpuResource, .replicas = 4}};
  facts.gpus[0].mig = nvml::MigMode::kEnabled;
  facts.gpus[0].mig_devices.resize(1);
  facts.gpus[0].mig_devices[0].profile = "1g.24gb+gfx";
  const auto product = [&](policy::MigStrategy strategy) {
    return GpuLabels(facts, {.mig_strategy = strategy, .sharing = sharing, .timestamp = {}})
        .labels.at(names::kGpuProduct);
  };
  EXPECT_EQ(product(policy::MigStrategy::kSingle),
            "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Work-MIG-1g.24gb.gfx-SHARED");
  facts.gpus.push_back(facts.gpus[0]);
  facts.gpus[1].mig_devices[0].profile = "2g.48gb";
  EXPECT_TRUE(product(policy::MigStrategy::kSingle).ends_with("-MIG-INVALID"));
  facts.gpus = {Gpu(0, facts.gpus[0].name)};
  EXPECT_TRUE(product(policy::MigStrategy::kNone).ends_with("-SHARED"));
}

TEST(KeepTimestamp, ARestartAloneChangesNothing) {
  const LabelMap published = {{names::kGfdTimestamp, "100"}, {names::kGpuCount, "8"}};
  EXPECT_EQ(KeepTimestamp({{names::kGfdTimestamp, "200"}, {names::kGpuCount, "8"}}, published),
            published);
  const LabelMap changed = {{names::kGfdTimestamp, "200"}, {names::kGpuCount, "4"}};
  EXPECT_EQ(KeepTimestamp(changed, published), changed);
  EXPECT_EQ(KeepTimestamp(changed, {}), changed);
  const LabelMap none = {{names::kGpuCount, "8"}};
  EXPECT_EQ(KeepTimestamp(none, published), none);
}

TEST(Facts, TravelAsJson) {
  Facts facts = With({Gpu(0, "A"), Gpu(1, "B")});
  facts.gpus[0].fabric = nvml::Fabric{"u", 3};
  facts.gpus[1].mig = nvml::MigMode::kEnabled;
  facts.gpus[1].uuid = "GPU-1";
  facts.failed_gpus = 2;
  facts.machine = "DGX\n";
  facts.pci_classes = {{"0000:01:00.0", 0x030200}};
  facts.config_space_readable = true;
  facts.vgpu = gpu::VgpuHost{"460.16", "r460_00"};
  EXPECT_EQ(FactsFromJson(ToJson(facts)), facts);
  const auto fraction = FactsFromJson(Json::parse(R"({"gpus": [{"index": 4e94}]})"));
  ASSERT_FALSE(fraction.has_value());
  EXPECT_EQ(fraction.error().message, "read facts: a number is not whole");
  const auto wrong = FactsFromJson(Json::parse(R"({"driverVersion": 5})"));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace gantry::gpu_features
