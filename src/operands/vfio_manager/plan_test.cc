// SPDX-License-Identifier: Apache-2.0
// The nodes of tests/golden/vm_nodes: what is planned for each, by the program's own reading of its
// folders.
#include "operands/vfio_manager/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/paths.h"
#include "gpu/testing/pci_tree.h"
#include "operands/vfio_manager/gather.h"

namespace gantry::vfio_manager {
namespace {

constexpr char kNodes[] = "tests/golden/vm_nodes";

Json ReadJson(const std::string& name, const char* file) {
  auto json = ParseJson(ReadFile(format("{}/{}/{}.json", kNodes, name, file)).value());
  EXPECT_TRUE(json.has_value()) << name;
  return *json;
}

Json StepsJson(const GroupPlan& plan) {
  Json steps = Json::array();
  for (const Step& step : plan.steps) {
    const char* action = step.action == Action::kOverride ? "override"
                         : step.action == Action::kUnbind ? "unbind"
                                                          : "bind";
    steps.push_back(Json::array({action, step.address, step.driver}));
  }
  return steps;
}

class NodeTest : public testing::TestWithParam<std::string> {};

TEST_P(NodeTest, IsPlanned) {
  const Json node = ReadJson(GetParam(), "node");
  const TempFolder root;
  gpu::MakeNode(root, node);
  const Places places{.sys = root / "sys", .host_root = root.path(), .journal = root / "journal"};
  auto facts = ReadFacts(places);
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  ASSERT_TRUE(AddHolders(places, *facts).has_value());
  const Selection selection{.switches = BoolAt(node, "switches", false)};
  const std::vector<GroupPlan> plans = PlanBind(*facts, {}, selection);
  const Json wanted = ListAt(ReadJson(GetParam(), "expected"), "groups");
  ASSERT_EQ(plans.size(), wanted.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].name, TextAt(wanted[i], "name"));
    EXPECT_EQ(StepsJson(plans[i]), ListAt(wanted[i], "steps")) << plans[i].name;
    EXPECT_EQ(plans[i].refusal.has_value() ? plans[i].refusal->reason : "",
              TextAt(wanted[i], "refusal"));
    if (wanted[i].contains("message")) {
      EXPECT_EQ(plans[i].refusal->message, TextAt(wanted[i], "message"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, NodeTest, testing::ValuesIn(ListDirectory(kNodes).value_or(std::vector<std::string>())),
    [](const auto& test) { return test.param; });

Function Gpu(const std::string& address, const std::string& driver, int group = 57) {
  return {.pci = {.address = address,
                  .vendor = host::kNvidiaVendor,
                  .device = 0x2342,
                  .class_code = 0x030200,
                  .driver = driver,
                  .iommu_group = group}};
}

TEST(PlanBindTest, AVariantIsTheDriverOfItsModule) {
  Facts facts{.functions = {Gpu("0009:01:00.0", "vfio-pci")},
              .drivers = {"vfio-pci", "nvgrace_gpu_vfio_pci"}};
  facts.functions[0].module = "nvgrace_gpu_vfio_pci";
  EXPECT_THAT(PlanBind(facts, {}, {})[0].steps,
              testing::ElementsAre(Step{Action::kOverride, "0009:01:00.0", "nvgrace_gpu_vfio_pci"},
                                   Step{Action::kUnbind, "0009:01:00.0", "vfio-pci"},
                                   Step{Action::kBind, "0009:01:00.0", "nvgrace_gpu_vfio_pci"}));
  facts.functions[0].pci.driver = "nvgrace_gpu_vfio_pci";
  EXPECT_THAT(PlanBind(facts, {}, {})[0].steps, testing::IsEmpty());
}

TEST(PlanBindTest, AModuleThatIsNotThereIsNamedAndNothingIsTaken) {
  const Facts facts{.functions = {Gpu("0000:3b:00.0", "nvidia")}, .drivers = {"nvidia"}};
  EXPECT_THAT(MissingModules(facts, {}), testing::ElementsAre("vfio_pci"));
  const GroupPlan plan = PlanBind(facts, {}, {})[0];
  EXPECT_EQ(plan.refusal->reason, "ModuleMissing");
  EXPECT_THAT(plan.steps, testing::IsEmpty());
}

TEST(PlanBindTest, WhatCannotBeFinishedIsGivenBack) {
  Facts facts{.functions = {Gpu("0000:3b:00.0", "")}, .drivers = {"nvidia"}};
  facts.functions[0].override = "vfio-pci";
  const Journal journal = {{"0000:3b:00.0", {.driver = "nvidia", .override = ""}}};
  const GroupPlan plan = PlanBind(facts, journal, {})[0];
  EXPECT_EQ(plan.refusal->reason, "ModuleMissing");
  EXPECT_THAT(plan.steps, testing::ElementsAre(Step{Action::kOverride, "0000:3b:00.0", ""},
                                               Step{Action::kBind, "0000:3b:00.0", "nvidia"}));
}

TEST(PlanBindTest, AGroupWithSomethingThatIsNoPciFunctionIsLeft) {
  const Facts facts{.functions = {Gpu("0000:3b:00.0", "nvidia")},
                    .drivers = {"nvidia", "vfio-pci"},
                    .incomplete_groups = {57}};
  EXPECT_EQ(PlanBind(facts, {}, {})[0].refusal->reason, "IommuGroupShared");
}

TEST(PlanBindTest, AForeignDeviceWithoutADriverIsNotInTheWay) {
  Facts facts{.functions = {Gpu("0000:3b:00.0", "nvidia"), Gpu("0000:3c:00.0", "")},
              .drivers = {"nvidia", "vfio-pci"}};
  facts.functions[1].pci.vendor = 0x8086;
  const GroupPlan plan = PlanBind(facts, {}, {})[0];
  EXPECT_FALSE(plan.refusal.has_value());
  EXPECT_THAT(plan.changed, testing::ElementsAre("0000:3b:00.0"));
}

TEST(PlanRestoreTest, EachHasWhatItHad) {
  Facts facts{.functions = {Gpu("0000:3b:00.0", "vfio-pci"), Gpu("0000:3b:00.1", "vfio-pci"),
                            Gpu("0000:81:00.0", "vfio-pci", 9)},
              .drivers = {"nvidia", "vfio-pci"}};
  for (Function& function : facts.functions) {
    function.override = "vfio-pci";
  }
  const Journal journal = {{"0000:3b:00.0", {.driver = "nvidia", .override = ""}},
                           {"0000:3b:00.1", {.driver = "gone", .override = "other"}},
                           {"0000:99:00.0", {.driver = "nvidia", .override = ""}}};
  const std::vector<GroupPlan> plans = PlanRestore(facts, journal);
  ASSERT_EQ(plans.size(), 1U);  // an administrator's own binding stays
  EXPECT_THAT(plans[0].steps,
              testing::ElementsAre(Step{Action::kOverride, "0000:3b:00.0", ""},
                                   Step{Action::kOverride, "0000:3b:00.1", "other"},
                                   Step{Action::kUnbind, "0000:3b:00.0", "vfio-pci"},
                                   Step{Action::kUnbind, "0000:3b:00.1", "vfio-pci"},
                                   Step{Action::kBind, "0000:3b:00.0", "nvidia"}));
}

TEST(PlanRestoreTest, AHeldGroupStays) {
  Facts facts{.functions = {Gpu("0000:3b:00.0", "vfio-pci")}, .drivers = {"nvidia", "vfio-pci"}};
  facts.functions[0].holders = "process 7 (qemu, /dev/vfio/57)";
  const std::vector<GroupPlan> plans =
      PlanRestore(facts, {{"0000:3b:00.0", {.driver = "nvidia", .override = ""}}});
  EXPECT_EQ(plans[0].refusal->message, "it is in use by process 7 (qemu, /dev/vfio/57)");
  EXPECT_TRUE(plans[0].refusal->passing);
  EXPECT_THAT(plans[0].steps, testing::IsEmpty());
}

TEST(PlanRestoreTest, WhatAnotherProgramBoundStays) {
  const Facts facts{.functions = {Gpu("0000:3b:00.0", "nouveau")}, .drivers = {"nvidia"}};
  EXPECT_THAT(PlanRestore(facts, {{"0000:3b:00.0", {.driver = "nvidia", .override = ""}}})[0].steps,
              testing::IsEmpty());
}

TEST(BeforeOfTest, HasAlsoWhatTheJournalDoesNotKnow) {
  const Facts facts{
      .functions = {Gpu("0000:3b:00.0", "vfio-pci"), Gpu("0000:3c:00.0", "vfio-pci", 8),
                    Gpu("0000:3d:00.0", "nvidia", 9)},
      .drivers = {}};
  const Journal journal = {{"0000:3b:00.0", {.driver = "nvidia", .override = ""}}};
  EXPECT_THAT(BeforeOf(facts, journal, {}),
              testing::ElementsAre(testing::Pair("0000:3b:00.0", Before{"nvidia", ""}),
                                   testing::Pair("0000:3c:00.0", Before{"", ""})));
  EXPECT_THAT(BeforeOf(facts, journal, {.address = "0000:3c:00.0"}),
              testing::ElementsAre(testing::Pair("0000:3c:00.0", Before{"", ""})));
}

}  // namespace
}  // namespace gantry::vfio_manager
