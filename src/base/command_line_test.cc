// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gantry {
namespace {

using testing::HasSubstr;

struct Given {
  std::string file = "unset";
  std::string name = "unset";
  std::vector<std::string> list = {"unset"};
  bool quiet = false;
  std::string once = "unset";
  std::vector<std::string> rest;
};

Given Parse(std::vector<const char*> argv) {
  Given given;
  CLI::App app("", "program");
  app.add_option("-o,--output-file", given.file, "");
  AsList(app.add_option("--list", given.list, ""));
  app.add_flag("-q,--quiet", given.quiet, "");
  app.add_option("--once", given.once, "")->expected(0, 1);
  app.allow_extras();
  app.add_subcommand("sub", "")->add_option("--name", given.name, "");
  argv.insert(argv.begin(), "program");
  ParseWords(app, static_cast<int>(argv.size()), argv.data());
  given.rest = app.remaining();
  return given;
}

TEST(CommandLine, AnEmptyValueIsNotTheNextWord) {
  EXPECT_EQ(Parse({"--output-file="}).file, "");
  const Given given = Parse({"--output-file=", "--quiet"});
  EXPECT_EQ(given.file, "");
  EXPECT_TRUE(given.quiet);
  EXPECT_EQ(Parse({"-o="}).file, "");
  EXPECT_EQ(Parse({"--output-file", ""}).file, "");
  EXPECT_EQ(Parse({"sub", "--name="}).name, "");
  EXPECT_EQ(Parse({"--list=", "--quiet"}).list, std::vector<std::string>{"unset"});
}

TEST(CommandLine, OneDashIsAsGoodAsTwo) {
  const Given given = Parse({"-output-file", "-quiet", "-list=a,b", "-once=false", "-quiet=true"});
  EXPECT_EQ(given.file, "-quiet") << "a value is not looked at";
  EXPECT_EQ(given.list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(given.once, "false");
  EXPECT_TRUE(given.quiet);
  EXPECT_EQ(Parse({"sub", "-name=x"}).name, "x");
}

TEST(CommandLine, ASwitchOfOneLetterMayHaveAValue) {
  EXPECT_FALSE(Parse({"--quiet", "-q=false"}).quiet);
  EXPECT_TRUE(Parse({"-q=true"}).quiet);
  EXPECT_TRUE(Parse({"-q"}).quiet);
}

TEST(CommandLine, AWordThatIsNotKnownIsNamed) {
  CLI::App app("", "program");
  std::string needed;
  app.add_option("--needed", needed, "")->required();
  app.require_subcommand(1);
  app.add_subcommand("sub", "");
  const auto error = [&app](std::vector<const char*> argv) -> std::string {
    argv.insert(argv.begin(), "program");
    try {
      ParseWords(app, static_cast<int>(argv.size()), argv.data());
    } catch (const CLI::ParseError& thrown) {
      return thrown.what();
    }
    return "";
  };
  EXPECT_THAT(error({"--needed=a", "subb"}), HasSubstr("subb"));
  EXPECT_THAT(error({"sub", "--needless"}), HasSubstr("--needless"));
  EXPECT_THAT(error({"--needed=a"}), HasSubstr("subcommand is required"));
  EXPECT_THAT(error({"sub"}), HasSubstr("--needed"));
}

TEST(CommandLine, SpacesAroundAValueOfAListAreNoPartOfIt) {
  EXPECT_EQ(Parse({"--list=a, b c ,d"}).list, (std::vector<std::string>{"a", "b c", "d"}));
}

TEST(CommandLine, AMistakeEndsAProgramWith2) {
  const auto end_of = [](std::vector<const char*> argv) {
    CLI::App app("", "program");
    int number = 0;
    app.add_option("--number", number, "");
    argv.insert(argv.begin(), "program");
    return ParseOrExitCode(app, static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(end_of({"--number", "1"}), std::nullopt);
  EXPECT_EQ(end_of({"--help"}), 0);
  EXPECT_EQ(end_of({"--other"}), 2);
  EXPECT_EQ(end_of({"--number", "x"}), 2);
  EXPECT_EQ(end_of({"--number"}), 2);
}

TEST(CommandLine, WhatCli11KnowsStaysAsItWas) {
  EXPECT_EQ(Parse({"-o", "a"}).file, "a");
  EXPECT_EQ(Parse({"-oa"}).file, "a");
  EXPECT_EQ(Parse({"-o=a=b"}).file, "a=b");
  EXPECT_EQ(Parse({"--list", "a", "--list=b"}).list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Parse({"--once"}).once, "");
  EXPECT_EQ(Parse({"--once", "false"}).once, "false");
  EXPECT_FALSE(Parse({"--quiet=false"}).quiet);
  EXPECT_EQ(Parse({"--other=", "-", "--", "-quiet"}).rest,
            (std::vector<std::string>{"--other=", "-", "--", "-quiet"}));
}

}  // namespace
}  // namespace gantry
