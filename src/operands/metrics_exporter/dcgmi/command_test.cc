// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/dcgmi/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gantry::dcgmi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Word = Command::Word;

Result<std::optional<Command>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "dcgmi");
  return ParseCommand(static_cast<int>(words.size()), words.data());
}

TEST(Command, SubcommandsAreNvidias) {
  struct Row {
    std::vector<const char*> words;
    Word word;
  };
  const Row rows[] = {{{"--version"}, Word::kVersion},
                      {{"-v"}, Word::kVersion},
                      {{"discovery", "-l"}, Word::kDiscovery},
                      {{"discovery", "--host", "localhost", "-l"}, Word::kDiscovery},
                      {{"dmon", "-l"}, Word::kFields},
                      {{"dmon", "-e", "150"}, Word::kDmon},
                      {{"health", "-g", "0", "-c"}, Word::kHealthCheck},
                      {{"health", "-g", "0", "-c", "-j"}, Word::kHealthCheck},
                      {{"health", "-f"}, Word::kHealthFetch},
                      {{"health", "-g", "0", "-s", "a"}, Word::kHealthSet}};
  for (const Row& row : rows) {
    const auto parsed = Parse(row.words);
    ASSERT_TRUE(parsed.has_value() && parsed->has_value()) << row.words[0];
    EXPECT_EQ((*parsed)->word, row.word);
  }
}

TEST(Command, FlagsOfDmon) {
  const auto parsed = Parse({"dmon", "-e", "150,155", "-d", "100", "-c", "3", "-i", "gpu:0,2"});
  ASSERT_TRUE(parsed.has_value() && parsed->has_value()) << parsed.error().message;
  EXPECT_EQ((*parsed)->fields, "150,155");
  EXPECT_EQ((*parsed)->delay, std::chrono::milliseconds(100));
  EXPECT_EQ((*parsed)->count, 3U);
  EXPECT_THAT((*parsed)->gpus, ElementsAre(0, 2));
  EXPECT_EQ((*parsed)->socket, "/run/nvidia/metrics-exporter/dcgmi.sock");
  const auto defaults = Parse({"dmon", "-e", "150", "-i", "*"});
  ASSERT_TRUE(defaults.has_value() && defaults->has_value());
  EXPECT_THAT((*defaults)->gpus, IsEmpty());
  EXPECT_EQ((*defaults)->delay, std::chrono::seconds(1));
  EXPECT_EQ((*defaults)->count, 0U);
}

TEST(Command, MistakesAreNamed) {
  struct Row {
    std::vector<const char*> words;
    const char* said;
  };
  const Row rows[] = {{{"discover"}, "no subcommand 'discover'"},
                      {{"diag", "-r", "1"}, "diag needs DCGM"},
                      {{"discovery"}, "discovery: -l is missing"},
                      {{"dmon"}, "dmon: -e is missing"},
                      {{"dmon", "-e", "150", "-d", "0"}, "--delay"},
                      {{"dmon", "-e", "150", "-i", "x"}, "\"x\" is not a GPU's id"},
                      {{"health"}, "health: -c is missing"},
                      {{"health", "-g", "4", "-c"}, "there is no group 4"},
                      {{"discovery", "--host", "other", "-l"}, "\"other\" is not this node"}};
  for (const Row& row : rows) {
    const auto parsed = Parse(row.words);
    ASSERT_FALSE(parsed.has_value()) << row.said;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.said));
  }
  EXPECT_FALSE(Parse({"--help"})->has_value());
}

}  // namespace
}  // namespace gantry::dcgmi
