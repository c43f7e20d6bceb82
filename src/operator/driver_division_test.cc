// SPDX-License-Identifier: Apache-2.0

#include "operator/driver_division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "operator/desired/driver_files.h"
#include "operator/desired/pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDeploy[] = "nvidia.com/gpu.deploy.driver";

class Division : public testing::Test {
 protected:
  void Add(const std::string& name, const std::string& id, const std::string& version,
           const std::string& kernel = "", const Labels& more = {}) {
    Labels labels = {{names::kGpuPresent, "true"},
                     {kDeploy, "true"},
                     {"nvidia.com/gpu.deploy.device-plugin", "true"},
                     {names::kSystemId, id},
                     {names::kSystemVersion, version}};
    if (!kernel.empty()) {
      labels[names::kKernelVersion] = kernel;
    }
    for (const auto& [key, value] : more) {
      labels[key] = value;
    }
    if (const std::string system = DriverSystemOf(labels, runtime_); !system.empty()) {
      labels.emplace(names::kDriverSystem, system);
    }
    nodes_[name].labels = PackLabels(labels);
  }
  DriverDivision Divide() {
    NamedNodes named;
    for (const auto& [name, facts] : nodes_) {
      named.emplace_back(name, &facts);
    }
    return DivideDrivers(ask_, named, there_);
  }
  // "name: image's suffix" of each.
  std::vector<std::string> Sets() {
    std::vector<std::string> sets;
    for (const DriverPart& part : Divide().parts.sets) {
      const std::string kernel = part.system.kernels.empty() ? "" : part.system.kernels.front();
      sets.push_back(format("{}: {}", part.name, ForSystem("", part.system, kernel)));
    }
    return sets;
  }
  // As if all were written.
  void Write() {
    std::vector<DriverSetThere> written;
    for (const DriverPart& part : Divide().parts.sets) {
      const std::string kernel = part.system.kernels.empty() ? "" : part.system.kernels.front();
      DriverSetThere& set = written.emplace_back();
      set.name = part.name;
      set.image = ForSystem("r/driver:1", part.system, kernel);
      set.nodes = {part.nodes.begin(), part.nodes.end()};
      set.system = ValueOf(set.nodes, names::kDriverSystem);
    }
    there_ = written;
  }
  // As an earlier release, or NVIDIA's operator, has made it.
  void WereThere(const std::string& name, const std::string& image, const Labels& nodes = {}) {
    DriverSetThere set{.name = name, .system = "", .image = image, .nodes = nodes};
    set.nodes.emplace(kDeploy, "true");
    there_.push_back(set);
  }

  std::map<std::string, NodeFacts> nodes_;
  std::vector<DriverSetThere> there_;
  std::string runtime_ = "containerd";
  DriverAsk ask_{.operand = nullptr,
                 .deploy = "driver",
                 .beside = "device-plugin",
                 .set = "nvidia-driver-daemonset",
                 .field = "spec.driver",
                 .image = "r/driver:1"};
};

TEST_F(Division, OneSystemHasNvidiasName) {
  Add("a", "ubuntu", "22.04");
  Add("b", "ubuntu", "22.04");
  const DriverDivision division = Divide();
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -ubuntu22.04"));
  EXPECT_EQ(division.parts.sets[0].nodes,
            (std::map<std::string, std::string>{{kDeploy, "true"},
                                                {names::kDriverSystem, "ubuntu22.04"}}));
  EXPECT_EQ(division.parts.sets[0].system.id, "ubuntu");
  EXPECT_TRUE(division.parts.whole);
}

// A node with another system joined, and its image was given to those that ran.
TEST_F(Division, Op433_WhoeverJoinsWhatRunsKeepsItsImageAndItsName) {
  Add("gpu1", "ubuntu", "22.04");
  Write();
  Add("gpu2", "ubuntu", "20.04");
  const std::vector<std::string> both = {"nvidia-driver-daemonset: -ubuntu22.04",
                                         "nvidia-driver-daemonset-ubuntu20.04: -ubuntu20.04"};
  EXPECT_EQ(Sets(), both);
  Add("gpu3", "ubuntu", "20.04");
  Add("gpu4", "ubuntu", "20.04");
  EXPECT_EQ(Sets(), both) << "not by a majority either";
  Write();
  nodes_.erase("gpu1");
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset-ubuntu20.04: -ubuntu20.04"));
  Write();
  Add("gpu1", "ubuntu", "24.04");
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -ubuntu24.04",
                                  "nvidia-driver-daemonset-ubuntu20.04: -ubuntu20.04"));
}

TEST_F(Division, TheNodeItselfBecomesAnotherSystem) {
  Add("a", "ubuntu", "22.04");
  Write();
  nodes_.clear();
  Add("a", "ubuntu", "24.04");
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -ubuntu24.04"));
}

TEST_F(Division, Op1436_OneKernelOfTwoSystemsIsTwoDrivers) {
  ask_.precompiled = true;
  Add("u22a", "ubuntu", "22.04", "6.8.0-59-generic");
  Add("u22b", "ubuntu", "22.04", "6.8.0-59-generic");
  Add("u24", "ubuntu", "24.04", "6.8.0-59-generic");
  Add("u24b", "ubuntu", "24.04", "6.8.0-60-generic");
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset-6.8.0-59-generic-ubuntu22.04: "
                                  "-6.8.0-59-generic-ubuntu22.04",
                                  "nvidia-driver-daemonset-6.8.0-59-generic-ubuntu24.04: "
                                  "-6.8.0-59-generic-ubuntu24.04",
                                  "nvidia-driver-daemonset-6.8.0-60-generic-ubuntu24.04: "
                                  "-6.8.0-60-generic-ubuntu24.04"));
}

// NVIDIA's short form of a kernel leaves out what tells these apart.
TEST_F(Division, Op1207_ArchitecturesAndPageSizesHaveNamesOfTheirOwn) {
  ask_.precompiled = true;
  const auto add = [&](const char* machine) {
    Add(machine, "rhcos", "4.16", format("5.14.0-503.11.1.el9_5.{}", machine));
  };
  const std::string base = "nvidia-driver-daemonset-5.14.0-503.11.1.el9.5";
  add("aarch64");
  EXPECT_EQ(Divide().parts.sets[0].name, base + "-rhcos4.16") << "one alone has NVIDIA's";
  Write();
  add("x86_64");
  add("aarch64_64k");
  std::map<std::string, std::string> names;
  for (const DriverPart& part : Divide().parts.sets) {
    names[part.system.kernels.at(0)] = part.name;
  }
  EXPECT_EQ(names["5.14.0-503.11.1.el9_5.aarch64"], base + "-rhcos4.16");
  EXPECT_EQ(names["5.14.0-503.11.1.el9_5.x86_64"], base + ".x86.64-rhcos4.16");
  EXPECT_EQ(names["5.14.0-503.11.1.el9_5.aarch64_64k"], base + ".aarch64.64k-rhcos4.16");
}

TEST_F(Division, KernelsThatAreSpelledAlikeHaveNamesOfTheirOwn) {
  ask_.precompiled = true;
  for (const char* kernel : {"6.1-a_b", "6.1-a.b", "6.1-A.b", "6.1-a.b_"}) {
    Add(kernel, "debian", "12", kernel);
  }
  std::set<std::string> names;
  for (const DriverPart& part : Divide().parts.sets) {
    names.insert(part.name);
  }
  EXPECT_EQ(names.size(), 4U);
}

TEST_F(Division, ANameThatIsCutTellsWhatItIsOf) {
  const std::string longest(63, 'v');
  EXPECT_EQ(FitName("short", "-x", 63, "i"), "short-x");
  const std::string one = FitName(longest + "1", "-x", 63, "1");
  const std::string two = FitName(longest + "2", "-x", 63, "2");
  EXPECT_NE(one, two);
  EXPECT_EQ(one.size(), 63U);
  EXPECT_TRUE(one.ends_with("-x"));
}

TEST_F(Division, WhatAnEarlierReleaseMadeIsLeftAsItIs) {
  WereThere("nvidia-driver-daemonset", "r/driver:1-ubuntu22.04");
  Add("a", "ubuntu", "22.04");
  Add("silent", "", "");
  DriverDivision division = Divide();
  EXPECT_EQ(division.parts.sets.at(0).nodes,
            (std::map<std::string, std::string>{{kDeploy, "true"}}));
  EXPECT_THAT(division.left_out, IsEmpty()) << "it serves nodes that don't say their system too";
  ASSERT_EQ(division.open.size(), 1U);
  EXPECT_FALSE(division.open[0].WouldTake({{names::kDriverSystem, "ubuntu22.04"}}));
  EXPECT_FALSE(division.open[0].WouldTake({}));
  EXPECT_TRUE(division.open[0].WouldTake({{names::kDriverSystem, "ubuntu20.04"}}));

  // A node comes that it must not take, and waits for its driver's label meanwhile.
  Add("b", "ubuntu", "20.04", "", {{kDeploy, ""}});
  division = Divide();
  EXPECT_FALSE(division.parts.sets[0].nodes.contains(names::kDriverSystem))
      << "the silent node's driver would go";
  EXPECT_THAT(division.left_out, ElementsAre(HasSubstr("b get none")));
  EXPECT_FALSE(division.parts.whole);
  nodes_.erase("silent");
  division = Divide();
  EXPECT_THAT(division.left_out, IsEmpty());
  ASSERT_EQ(division.parts.sets.size(), 2U);
  EXPECT_EQ(division.parts.sets[0].name, "nvidia-driver-daemonset");
  EXPECT_EQ(division.parts.sets[0].nodes.at(names::kDriverSystem), "ubuntu22.04");
  EXPECT_EQ(division.parts.sets[1].nodes.at(names::kDriverSystem), "ubuntu20.04");
  Write();
  EXPECT_THAT(Divide().open, IsEmpty());
  EXPECT_EQ(Divide().parts.sets.size(), 2U) << "the label is on its way";
}

TEST_F(Division, APrecompiledDriverOfAnEarlierReleaseIsLeftToo) {
  ask_.precompiled = true;
  WereThere("nvidia-driver-daemonset-6.8-ubuntu22.04", "r/driver:1-6.8-ubuntu22.04",
            {{names::kKernelVersion, "6.8"}});
  Add("a", "ubuntu", "22.04", "6.8");
  Add("b", "ubuntu", "24.04", "6.9");
  EXPECT_FALSE(Divide().parts.sets[0].nodes.contains(names::kDriverSystem));
  Add("c", "ubuntu", "24.04", "6.8");
  const DriverDivision division = Divide();
  EXPECT_EQ(division.parts.sets[0].nodes.at(names::kDriverSystem), "ubuntu22.04");
  EXPECT_EQ(division.parts.sets.size(), 3U);
}

TEST_F(Division, LabelsThatGoTakeNoDriverAway) {
  Add("a", "ubuntu", "22.04");
  Write();
  nodes_["a"].labels = PackLabels(
      {{names::kGpuPresent, "true"}, {kDeploy, "true"}, {names::kDriverSystem, "ubuntu22.04"}});
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -ubuntu22.04"));
  EXPECT_EQ(Divide().parts.sets[0].system.id, "ubuntu");
}

TEST_F(Division, NodesThatDontSayTheirSystemAreNamed) {
  Add("a", "ubuntu", "22.04");
  Add("b", "ubuntu", "");
  EXPECT_THAT(Divide().left_out,
              ElementsAre(AllOf(HasSubstr("b don't say"), HasSubstr(names::kSystemVersion))));
  EXPECT_FALSE(Divide().parts.whole);
  Add("b", "ubuntu", "", "", {{kDeploy, "false"}});
  EXPECT_THAT(Divide().left_out, IsEmpty()) << "it is to have none";
  ask_.precompiled = true;
  EXPECT_THAT(Divide().left_out, ElementsAre(HasSubstr(names::kKernelVersion)));
}

TEST_F(Division, AnImageForOneSystemIsForNoOther) {
  Add("a", "ubuntu", "22.04");
  Add("b", "ubuntu", "22.04");
  Add("c", "ubuntu", "24.04");
  ask_.image = "r/driver@sha256:1";
  EXPECT_EQ(Divide().parts.sets.size(), 1U);
  EXPECT_THAT(Divide().left_out,
              ElementsAre(AllOf(HasSubstr("c run ubuntu24.04"), HasSubstr("spec.driver.version"))));
  WereThere("nvidia-driver-daemonset", "r/driver@sha256:1",
            {{names::kDriverSystem, "ubuntu24.04"}});
  there_[0].system = "ubuntu24.04";
  EXPECT_EQ(Divide().parts.sets.at(0).system.tag, "ubuntu24.04") << "it runs";
  there_.clear();
  ask_.image = "r/driver:570-ubuntu24.04";
  EXPECT_EQ(Divide().parts.sets.at(0).system.tag, "ubuntu24.04");
  EXPECT_THAT(Divide().left_out, ElementsAre(HasSubstr("a, b run ubuntu22.04")));
}

TEST_F(Division, VersionsOfRhcosHaveADriverEachAndItsOwnSystem) {
  ask_.toolkit = true;
  Add("a", "rhcos", "4.13", "", {{names::kRhcosVersion, "413.92"}});
  Add("b", "rhcos", "4.14", "", {{names::kRhcosVersion, "414.92"}});
  Add("c", "rhel", "9.4");
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -rhel9",
                                  "nvidia-driver-daemonset-413.92: -rhcos4.13",
                                  "nvidia-driver-daemonset-414.92: -rhcos4.14"));
}

TEST_F(Division, RhelWithCrioHasADriverOfItsOwn) {
  Add("a", "rhel", "9.4");
  runtime_ = "cri-o";
  Add("b", "rhel", "9.4");
  Add("c", "ubuntu", "22.04");
  const DriverDivision division = Divide();
  EXPECT_THAT(Sets(), ElementsAre("nvidia-driver-daemonset: -rhel9",
                                  "nvidia-driver-daemonset-rhel9-crio: -rhel9",
                                  "nvidia-driver-daemonset-ubuntu22.04: -ubuntu22.04"));
  EXPECT_EQ(division.parts.sets[0].runtime, "containerd");
  EXPECT_EQ(division.parts.sets[1].runtime, "crio");
}

TEST(DriverSetThere, IsReadFromTheObject) {
  const DriverSetThere set = DriverSetThereOf(Json::parse(R"({
      "metadata": {"name": "n", "labels": {"nvidia.com/gpu-operator.driver.system": "s"}},
      "spec": {"template": {"spec": {"nodeSelector": {"a": "b"},
                                     "containers": [{"image": "i"}]}}}})"));
  EXPECT_EQ(set.name + set.system + set.image, "nsi");
  EXPECT_EQ(set.nodes, (Labels{{"a", "b"}}));
}

TEST(SystemOfImage, IsWhatTheTagEndsWith) {
  EXPECT_EQ(SystemOfImage("r/driver:570-ubuntu22.04"), "ubuntu22.04");
  EXPECT_EQ(SystemOfImage("r/driver:570-6.8.0-59-generic-sl-micro6.1"), "sl-micro6.1");
  EXPECT_EQ(SystemOfImage("r/driver:570-rhel9"), "rhel9");
  EXPECT_EQ(SystemOfImage("r/driver:570.1-rc1"), "");
  EXPECT_EQ(SystemOfImage("r/driver-ubuntu22:570"), "");
  EXPECT_EQ(SystemOfImage("r/driver@sha256:0123"), "");
  EXPECT_EQ(SystemOfImage(""), "");
}

TEST(ForSystem, WhatTheTagHasAlreadyIsNotSaidTwice) {
  const SystemFacts system{"ubuntu", "ubuntu22.04", {}};
  EXPECT_EQ(ForSystem("r/driver:570", system), "r/driver:570-ubuntu22.04");
  EXPECT_EQ(ForSystem("r/driver:570-ubuntu22.04", system), "r/driver:570-ubuntu22.04");
  EXPECT_EQ(ForSystem("r/driver:570-ubuntu22.04", system, "6.8"), "r/driver:570-6.8-ubuntu22.04");
  EXPECT_EQ(ForSystem("r/driver:570-6.8-ubuntu22.04", system, "6.8"),
            "r/driver:570-6.8-ubuntu22.04");
  EXPECT_EQ(ForSystem("r/driver@sha256:1", system), "r/driver@sha256:1");
}

}  // namespace
}  // namespace gantry::gpu_operator
