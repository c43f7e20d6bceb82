// SPDX-License-Identifier: Apache-2.0
#include "agent/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/variables.h"

namespace gantry::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::string name = "default";
  std::vector<std::string> list;
  bool off = false;
  std::optional<bool> on;
  int number = 0;
  std::string word;
};

Result<std::optional<Read>> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  FlagSet set("program", "Does something.");
  Read read;
  set.Value("-n,--name", read.name, {"NEW_NAME", "NAME"}, "");
  set.List("--list", read.list, {"LIST"}, "");
  set.Bool("-o,--off", read.off, {"OFF"}, "");
  set.Bool("--on", read.on, {}, "");
  set.Value("--number", read.number, {"NUMBER"}, "")->check(CLI::Range(0, 9));
  set.Custom(
      "--even",
      [](const std::string& text) {
        return text.size() % 2 == 0 ? Status() : Fail(ErrorKind::kInvalid, "is odd");
      },
      {"EVEN"}, "");
  set.Unused("--old", {"OLD"});
  set.UnusedBool("--old-switch", {"OLD_SWITCH"});
  set.app().add_subcommand("go")->callback([&read] { read.word = "go"; });
  set.app().fallthrough();
  TRY_ASSIGN(const bool run, set.Parse(static_cast<int>(words.size()), words.data()));
  return run ? std::optional(read) : std::nullopt;
}

std::string Mistake(std::vector<const char*> words) {
  const auto parsed = Parse(std::move(words));
  return parsed ? "none" : parsed.error().message;
}

TEST(FlagSetTest, ABoolIsReadAsGoReadsIt) {
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_TRUE(Parse({("--off=" + std::string(yes)).c_str()}).value()->off) << yes;
    const Variables variable({{"OFF", yes}});
    EXPECT_TRUE(Parse({}).value()->off) << yes;
    EXPECT_FALSE(Parse({"--off", "false"}).value()->off) << "a flag wins over a variable";
  }
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(Parse({"--on", no}).value()->on, false) << no;
  }
  EXPECT_THAT(Mistake({"--on=yes"}), HasSubstr("--on"));
  EXPECT_EQ(Parse({}).value()->on, std::nullopt);
  EXPECT_EQ(Parse({"--on"}).value()->on, true);
  EXPECT_EQ(Parse({"-on=false"}).value()->on, false);
  EXPECT_FALSE(Parse({"-o", "-o=false"}).value()->off) << "the last one counts";
  EXPECT_EQ(Parse({"--off", "go"}).value()->word, "go") << "a subcommand is no value";
}

TEST(FlagSetTest, OfSeveralVariablesTheFirstThatSaysSomethingCounts) {
  const Variables both({{"NEW_NAME", ""}, {"NAME", "b"}});
  EXPECT_EQ(Parse({}).value()->name, "b");
  const Variables first({{"NEW_NAME", "a"}});
  EXPECT_EQ(Parse({}).value()->name, "a");
  EXPECT_EQ(Parse({"-n", "c"}).value()->name, "c");
  EXPECT_EQ(Parse({"--name="}).value()->name, "");
}

TEST(FlagSetTest, AList) {
  EXPECT_THAT(Parse({"--list=a, b", "--list", "c"}).value()->list, ElementsAre("a", "b", "c"));
  const Variables variable({{"LIST", "x,y"}});
  EXPECT_THAT(Parse({}).value()->list, ElementsAre("x", "y"));
}

TEST(FlagSetTest, WhatIsNotUsedIsAccepted) {
  const Variables variables({{"OLD", "what,ever"}, {"OLD_SWITCH", "true"}});
  EXPECT_EQ(Mistake({"--old=x", "--old", "-y", "--old-switch"}), "none");
  EXPECT_THAT(Mistake({"--old-switch=maybe"}), HasSubstr("--old-switch"));
}

TEST(FlagSetTest, AMistakeNamesTheFlag) {
  EXPECT_THAT(Mistake({"--of-tomorrow"}), HasSubstr("--of-tomorrow"));
  EXPECT_THAT(Mistake({"--number=10"}), HasSubstr("--number"));
  EXPECT_THAT(Mistake({"--even=abc"}), HasSubstr("--even (EVEN): is odd"));
}

TEST(RunWithTest, TheExitStatus) {
  const auto run = [](const Read& read) { return read.number; };
  EXPECT_EQ(RunWith("program", Parse({"--number=7"}), run), 7);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunWith("program", Parse({"--help"}), run), 0);
  EXPECT_EQ(RunWith("program", Parse({"--version"}), run), 0);
  EXPECT_EQ(RunWith("program", Parse({"--number=x"}), run), 2);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("Does something."));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("program: read the command line"));
}

TEST(ExitCodeOfWordsTest, HelpIsNoMistake) {
  constexpr char kUsage[] = "usage: program A B";
  const std::array words = {"program", "a", "b"};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(ExitCodeOfWords(3, words.data(), 2, kUsage), std::nullopt);
  EXPECT_EQ(ExitCodeOfWords(2, words.data(), 2, kUsage), 2);
  const std::array help = {"program", "--help"};
  EXPECT_EQ(ExitCodeOfWords(2, help.data(), 2, kUsage), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "usage: program A B\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "usage: program A B\n");
}

}  // namespace
}  // namespace gantry::agent
