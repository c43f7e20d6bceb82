// SPDX-License-Identifier: Apache-2.0
// Every folder of tests/golden/containerd is a host: root.toml (or none), `settings`, files that
// root.toml imports; and what is written there: expected/root.toml and expected/drop_in.toml. With
// GANTRY_ACCEPT=1 the expected files are written anew.
#include "container/containerd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/text.h"
#include "container/containerd_reading.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kContainerdGolden[] = "tests/golden/containerd";

ContainerdWish ReadContainerdCase(const std::string& folder) {
  ContainerdWish wish;
  if (auto text = ReadFile(folder + "/root.toml")) {
    wish.root_text = *std::move(text);
  }
  for (const std::string& line : Split(ReadFile(folder + "/settings").value_or(""), '\n')) {
    const std::string value = line.substr(line.find('=') + 1);
    if (line.starts_with("version=")) {
      wish.version = ParseContainerdVersion("v" + value);
    } else if (line.starts_with("import=")) {
      wish.imported.push_back(ReadFile(folder + "/" + value).value());
    } else if (line.starts_with("default=")) {
      wish.set_as_default = value == "true";
    } else if (line.starts_with("drop_in=")) {
      wish.drop_in_path = value;
    }
  }
  return wish;
}

void Compare(const std::string& path, const std::string& text) {
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  EXPECT_EQ(ReadFile(path).value_or("(absent)"), text) << path;
}

class ContainerdGolden : public testing::TestWithParam<std::string> {};

TEST_P(ContainerdGolden, Plan) {
  const std::string folder = std::string(kContainerdGolden) + "/" + GetParam();
  ContainerdWish wish = ReadContainerdCase(folder);
  const auto plan = PlanContainerd(wish);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  Compare(folder + "/expected/root.toml", plan->root_text);
  Compare(folder + "/expected/drop_in.toml", plan->drop_in_text);

  const std::string before = wish.root_text.value_or("");
  EXPECT_EQ(plan->root_before, before);
  EXPECT_EQ(WithoutOurPart(plan->root_text, wish.drop_in_path), before) << "removal";
  wish.root_text = plan->root_text;
  const auto again = PlanContainerd(wish);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->root_text, plan->root_text) << "a second run changes nothing";
  EXPECT_EQ(again->drop_in_text, plan->drop_in_text);
}

std::vector<std::string> ContainerdCases() {
  return ListDirectory(kContainerdGolden).value_or(std::vector<std::string>{});
}
INSTANTIATE_TEST_SUITE_P(Hosts, ContainerdGolden, testing::ValuesIn(ContainerdCases()),
                         [](const auto& tested) { return tested.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ContainerdGolden);

TEST(Containerd, GoldenFoldersAreThere) { EXPECT_GE(ContainerdCases().size(), 15U); }

TEST(Containerd, BrokenRootFileIsNamedAndLeftAlone) {
  ContainerdWish wish;
  wish.root_text = "version = 2\n[plugins\n";
  const auto plan = PlanContainerd(wish);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(plan.error().message, HasSubstr("/etc/containerd/config.toml: line 2"));
}

TEST(Containerd, Aicr1688TheSchemaIsThatOfTheRootFile) {
  // A containerd that prints version 4 refuses a drop-in of version 4 beside a root of version 2.
  ContainerdWish wish;
  wish.version = {2, 4};
  wish.root_text = "version = 2\n";
  const auto plan = PlanContainerd(wish);
  EXPECT_THAT(plan->drop_in_text, HasSubstr("version = 2\n"));
  EXPECT_THAT(plan->drop_in_text, HasSubstr("io.containerd.grpc.v1.cri"));
}

TEST(Containerd, Nct1222TheProvidersCniFolderSurvivesAContainerdThatReplacesTables) {
  ContainerdWish wish =
      ReadContainerdCase(std::string(kContainerdGolden) + "/v2_comments_old_containerd");
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, HasSubstr("/home/kubernetes/bin"));
  wish.version = {2, 4};  // merges tables: what the provider says later must count
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, Not(HasSubstr("/home/kubernetes/bin")));
}

// Since 2.1 an import adds to the root file's table: what it does not name still counts.
TEST(Containerd, AnImportThatAddsAKeyLeavesTheDefaultRuntimesOptions) {
  ContainerdWish wish =
      ReadContainerdCase(std::string(kContainerdGolden) + "/v3_import_adds_cri_key");
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, HasSubstr("SystemdCgroup = true"));
  wish.version = {2, 0};
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, Not(HasSubstr("SystemdCgroup")));
}

TEST(Containerd, ADefaultRuntimeOfItsOwnerIsNotOverwrittenInTheRootFile) {
  ContainerdWish wish;
  wish.set_as_default = true;
  wish.drop_in_path = "";
  wish.root_text =
      "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd]\ndefault_runtime_name = 'x'\n";
  const auto plan = PlanContainerd(wish);
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().kind, ErrorKind::kUnsupported);
}

TEST(Containerd, WhatItsOwnerAsksForReplacesWhatIsThere) {
  ContainerdWish wish;
  wish.owner_asks = true;
  wish.set_as_default = true;
  wish.drop_in_path = "";
  wish.version = {1, 7};
  wish.root_text =
      "version = 2\n"
      "[plugins.'io.containerd.grpc.v1.cri']\n"
      "enable_cdi = false # for now\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd]\n"
      "default_runtime_name = \"runc\"\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n"
      "runtime_type = 'io.containerd.runc.v2'\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\n"
      "SystemdCgroup = true\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\n"
      "runtime_type = 'io.containerd.runtime.v1.linux'\n"
      "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia.options] # ours\n"
      "BinaryName = '/old'\n"
      "[grpc]\n";
  const auto plan = PlanContainerd(wish);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->remarks, testing::IsEmpty());
  EXPECT_THAT(
      plan->root_text,
      testing::StartsWith(
          "version = 2\n"
          "[plugins.'io.containerd.grpc.v1.cri']\n"
          "enable_cdi = true # for now\n"
          "[plugins.'io.containerd.grpc.v1.cri'.containerd]\n"
          "default_runtime_name = \"nvidia\"\n"
          "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n"
          "runtime_type = 'io.containerd.runc.v2'\n"
          "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\n"
          "SystemdCgroup = true\n"
          "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\n"
          "runtime_type = \"io.containerd.runc.v2\"\n"
          "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia.options] # ours\n"
          "SystemdCgroup = true\n"
          "BinaryName = \"/usr/local/nvidia/toolkit/nvidia-container-runtime\"\n"
          "[grpc]\n"
          "# >>> NVIDIA runtimes"));
  EXPECT_TRUE(HasRuntime(plan->root_text, "nvidia-cdi", wish.program + ".cdi"));
  wish.root_text = plan->root_text;
  EXPECT_EQ(PlanContainerd(wish)->root_text, plan->root_text) << "a second run changes nothing";
  wish.root_text = "version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nenable_cdi = false\n";
  wish.drop_in_path = "/etc/containerd/conf.d/99-nvidia.toml";
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, HasSubstr("enable_cdi = true"));
}

TEST(Containerd, TheBuiltInRuntimeStaysWhereATableOfOursReplacesIt) {
  ContainerdWish wish;
  wish.version = {1, 7};
  wish.root_text = "version = 2\n";
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, HasSubstr("containerd.runtimes.runc]"));
  wish.root_text = "[plugins.cri]\n";
  EXPECT_THAT(PlanContainerd(wish)->root_text, HasSubstr("containerd.runtimes.runc]"));
  wish.root_text = "version = 2\n";
  wish.version = {2, 4};
  EXPECT_THAT(PlanContainerd(wish)->drop_in_text, Not(HasSubstr("containerd.runtimes.runc]")));
}

TEST(Containerd, NctPr1382ExistingImportsAreKept) {
  const ContainerdWish wish =
      ReadContainerdCase(std::string(kContainerdGolden) + "/v2_imports_kept");
  EXPECT_THAT(ContainerdImports(PlanContainerd(wish)->root_text),
              ElementsAre("/etc/containerd/runtime_*.toml", "./debug.toml",
                          "/etc/containerd/conf.d/99-nvidia*.toml"));
}

TEST(Containerd, AFileThatItsOwnerWritesAnewIsNotEdited) {
  ContainerdWish wish;
  wish.version = {2, 1};
  wish.edit_root = false;
  wish.root_text = "version = 3\nimports = [\"/etc/k0s/cri.toml\"]\n";
  wish.drop_in_path = "/etc/k0s/containerd.d/99-nvidia.toml";
  const auto plan = PlanContainerd(wish);
  EXPECT_EQ(plan->root_text, wish.root_text);
  EXPECT_THAT(plan->drop_in_text, HasSubstr("version = 3"));
  EXPECT_THAT(plan->trial_text, HasSubstr("99-nvidia"));
  wish.root_text = "[plugins.cri]\n";
  EXPECT_EQ(PlanContainerd(wish).error().kind, ErrorKind::kUnsupported);
}

TEST(Containerd, ATemplateIsEditedInPlaceOfWhatIsMadeOfIt) {
  ContainerdWish wish;
  wish.version = {1, 7};
  wish.root_text =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"real\"\n";
  wish.template_text =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"${IMAGE}\"\n";
  const auto plan = PlanContainerd(wish);
  EXPECT_THAT(plan->root_text, HasSubstr("${IMAGE}"));
  EXPECT_THAT(plan->root_text, HasSubstr("99-nvidia"));
  EXPECT_EQ(plan->root_before, wish.template_text);
  EXPECT_THAT(plan->drop_in_text, HasSubstr("\"real\""));
  EXPECT_THAT(plan->trial_text, HasSubstr("\"real\""));
}

TEST(Containerd, AnEmptyFileOfAnOldContainerd) {
  ContainerdWish wish;
  wish.legacy_schema = true;
  wish.version = {1, 7};
  EXPECT_EQ(PlanContainerd(wish)->schema, 1);
}

TEST(Containerd, LowLevelRuntimesThatTheConfigurationNames) {
  ContainerdWish wish = ReadContainerdCase(std::string(kContainerdGolden) + "/v4_root");
  EXPECT_THAT(LowLevelRuntimes(wish), ElementsAre("/usr/bin/crun"));
  wish.root_text = "[";
  EXPECT_THAT(LowLevelRuntimes(wish), testing::IsEmpty());
}

TEST(Containerd, ARuntimeThatSomebodyElseConfigured) {
  const std::string text =
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
      "BinaryName = \"/a\"\n";
  EXPECT_TRUE(HasRuntime(text, "nvidia", "/a"));
  EXPECT_FALSE(HasRuntime(text, "nvidia", "/b"));
  EXPECT_FALSE(HasRuntime(text, "kata", "/a"));
  EXPECT_FALSE(HasRuntime("[", "nvidia", "/a"));
}

TEST(Containerd, Nct1956EveryRuntimeHasAType) {
  ContainerdWish wish;
  wish.version = {2, 0};
  wish.root_text = "version = 3\n";
  const std::string text = PlanContainerd(wish)->drop_in_text;
  size_t count = 0;
  for (size_t at = text.find("runtime_type"); at != std::string::npos;
       at = text.find("runtime_type", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 4U);  // the built-in runc too
}

TEST(Containerd, RemovalKeepsWhatOthersEditedSince) {
  ContainerdWish wish;
  wish.root_text = "version = 3\n\n[grpc]\naddress = \"/a\"\n";
  std::string text = PlanContainerd(wish)->root_text;
  text.replace(text.find("/a"), 2, "/b");
  text += "# added\n";
  EXPECT_EQ(WithoutOurPart(text, wish.drop_in_path),
            "version = 3\n\n[grpc]\naddress = \"/b\"\n# added\n");
}

TEST(Containerd, RemovalFindsOurBlockBehindWhatLooksLikeIt) {
  const std::string begin = "# >>> NVIDIA runtimes, kept by the GPU operator\n";
  ContainerdWish wish;
  wish.version = {1, 5};
  wish.edit_root = true;
  for (const std::string& before : {"[grpc]  " + begin, begin + "[grpc]\n"}) {
    wish.root_text = before;
    const auto plan = PlanContainerd(wish);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    ASSERT_NE(plan->root_text, before);
    EXPECT_EQ(WithoutOurPart(plan->root_text, wish.drop_in_path), before);
  }
}

TEST(Containerd, RemovalTakesNoImportOfOthers) {
  const std::string text = "imports = [\"/etc/containerd/conf.d/*.toml\"]\n";
  EXPECT_EQ(WithoutOurPart(text, "/etc/containerd/conf.d/99-nvidia.toml"), text);
}

TEST(Containerd, CdiSwitchedOffByItsOwnerStaysSo) {
  const ContainerdWish wish =
      ReadContainerdCase(std::string(kContainerdGolden) + "/v2_cdi_off_by_owner");
  const auto plan = PlanContainerd(wish);
  EXPECT_THAT(plan->remarks, ElementsAre(HasSubstr("enable_cdi = false")));
}

TEST(Containerd, Version) {
  EXPECT_EQ(ParseContainerdVersion("containerd github.com/containerd/containerd/v2 v2.4.2 abc"),
            (ContainerdVersion{2, 4}));
  EXPECT_EQ(ParseContainerdVersion("containerd containerd.io 1.6.33 d2d58213f"),
            (ContainerdVersion{1, 6}));
  EXPECT_EQ(ParseContainerdVersion("?"), ContainerdVersion{});
}

TEST(Containerd, DumpsThatMeanTheSame) {
  const std::string a = "version = 2\nimports = ['/x']\n[plugins.a]\nb = 1\n";
  const std::string b = "imports = []\nversion = 2\n\n[plugins]\n  [plugins.a]\n    b = 1\n";
  EXPECT_EQ(EffectiveConfig(a).value(), EffectiveConfig(b).value());
  EXPECT_NE(EffectiveConfig(a).value(), EffectiveConfig("version = 2\n").value());
}

TEST(Containerd, TrialRunReadsOtherFiles) {
  EXPECT_EQ(WithImports("version = 2\nimports = [\n'/a', # x\n'/b']\nroot='/r'\n", {"/t/c", "/b"}),
            "version = 2\nimports = [\"/t/c\", \"/b\"]\nroot='/r'\n");
}

TEST(Containerd, HandlersOfADump) {
  EXPECT_THAT(HandlersInDump("version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd."
                             "runtimes.nvidia]\nruntime_type = 'x'\n"),
              Contains("nvidia"));
}

}  // namespace
}  // namespace gantry::container
