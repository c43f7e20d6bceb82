// SPDX-License-Identifier: Apache-2.0
// Every folder of tests/golden/crio is a host: crio.conf, crio.conf.d/* and `settings`; and the
// drop-in that is written there: expected/drop_in.toml. With GANTRY_ACCEPT=1 it is written anew.
#include "container/crio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

constexpr char kCrioGolden[] = "tests/golden/crio";

CrioWish ReadCrioCase(const std::string& folder) {
  CrioWish wish;
  if (auto text = ReadFile(folder + "/crio.conf")) {
    wish.present.push_back(*std::move(text));
  }
  const auto names = ListDirectory(folder + "/crio.conf.d").value_or(std::vector<std::string>{});
  for (const std::string& name : names) {
    wish.present.push_back(ReadFile(folder + "/crio.conf.d/" + name).value());
  }
  for (const std::string& line : Split(ReadFile(folder + "/settings").value(), '\n')) {
    const std::string value = line.substr(line.find('=') + 1);
    if (line.starts_with("default=")) {
      wish.set_as_default = value == "true";
    } else if (line.starts_with("name=")) {
      wish.runtime_name = value;
    }
  }
  return wish;
}

class CrioGolden : public testing::TestWithParam<std::string> {};

TEST_P(CrioGolden, Plan) {
  const std::string folder = std::string(kCrioGolden) + "/" + GetParam();
  CrioWish wish = ReadCrioCase(folder);
  const auto plan = PlanCrio(wish);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const std::string path = folder + "/expected/drop_in.toml";
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << plan->drop_in_text;
  }
  EXPECT_EQ(ReadFile(path).value_or("(absent)"), plan->drop_in_text);

  wish.present.push_back(plan->drop_in_text);
  EXPECT_THAT(PlanCrio(wish)->drop_in_text, IsEmpty()) << "with it, nothing is missing";
}

std::vector<std::string> CrioCases() {
  return ListDirectory(kCrioGolden).value_or(std::vector<std::string>{});
}
INSTANTIATE_TEST_SUITE_P(Hosts, CrioGolden, testing::ValuesIn(CrioCases()),
                         [](const auto& tested) { return tested.param; });

TEST(Crio, GoldenFoldersAreThere) { EXPECT_GE(CrioCases().size(), 6U); }

TEST(Crio, ABrokenFileIsNamedByItsLine) {
  EXPECT_EQ(PlanCrio({.present = {"[crio\n"}}).error().kind, ErrorKind::kInvalid);
}

TEST(Crio, HandlersAreThree) {
  EXPECT_THAT(PlanCrio({})->handlers, ElementsAre("nvidia", "nvidia-cdi", "nvidia-legacy"));
}

TEST(Crio, LowLevelRuntimesOfPackagedCrioAreInNoPath) {
  const CrioWish wish = ReadCrioCase(std::string(kCrioGolden) + "/packaged_crun");
  EXPECT_THAT(CrioRuntimePaths(wish.present),
              ElementsAre("/usr/libexec/crio/crun", "/usr/libexec/crio/runc"));
  EXPECT_THAT(CrioRuntimePaths({"[crio"}), IsEmpty());
  EXPECT_THAT(CrioRuntimePaths({}), IsEmpty());
}

TEST(Crio, HandlersOfWhatItPrints) {
  const auto plan = PlanCrio({});
  EXPECT_THAT(CrioHandlers("# a comment\n" + plan->drop_in_text).value(),
              IsSupersetOf({"nvidia", "nvidia-cdi", "nvidia-legacy"}));
  EXPECT_THAT(CrioHandlers("[crio]\n").value(), IsEmpty());
  EXPECT_FALSE(CrioHandlers("[crio").has_value());
}

}  // namespace
}  // namespace gantry::container
