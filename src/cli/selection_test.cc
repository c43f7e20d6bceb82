// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/text.h"
#include "cli/commands.h"

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int Nothing(int /*argc*/, char** /*argv*/) { return 0; }

constexpr std::array<std::string_view, 1> kAlso = {"nvidia-toolkit"};
constexpr std::array<Command, 3> kTable = {{
    {"nvidia-ctk-installer", kAlso, "installs", Nothing},
    {"doctor", {}, "finds", Nothing},
    {"status", {}, "shows", Nothing},
}};

TEST(SelectionTest, FindsByEachName) {
  EXPECT_EQ(FindCommand(kTable, "nvidia-toolkit"), kTable.data());
  EXPECT_EQ(FindCommand(kTable, "nvidia-ctk-installer"), kTable.data());
  EXPECT_EQ(FindCommand(kTable, "nvidia"), nullptr);
}

TEST(SelectionTest, NamesWhatIsNear) {
  EXPECT_THAT(NearNames(kTable, "docter"), ElementsAre("doctor"));
  EXPECT_THAT(NearNames(kTable, "toolkit"), ElementsAre("nvidia-toolkit"));
  EXPECT_THAT(NearNames(kTable, "xyzzy"), IsEmpty());
}

TEST(SelectionTest, ListsEachName) {
  EXPECT_EQ(NamesText(kTable), "nvidia-ctk-installer\nnvidia-toolkit\ndoctor\nstatus\n");
  EXPECT_THAT(HelpText(kTable), HasSubstr("also: nvidia-toolkit"));
}

TEST(CommandsTable, EveryNameIsThereOnce) {
  std::set<std::string> names;
  for (const std::string& name : Split(NamesText(Commands()), '\n')) {
    EXPECT_TRUE(name.empty() || names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace gantry::cli
