// SPDX-License-Identifier: Apache-2.0
// nvidia-ctk: its commands, their flags, the configuration, and what it tells of a system.
#include "operands/container_runtime/toolkit_cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "container/cdi_rules.h"
#include "operands/container_runtime/application_profile.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/device_numbers.h"
#include "operands/container_runtime/runtime_config.h"
#include "operands/container_runtime/testing/cli_fixture.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(CliTest, ConfigKeysAreSetInPlace) {
  Put("/config.toml",
      "# ours\ndisable-require = false  # why\n\n[nvidia-container-runtime]\n"
      "mode = \"auto\"\n#runtimes = []\n[other]\nmode = \"kept\"\n");
  EXPECT_EQ(Run(ConfigCommand, {"--config", folder_ + "/config.toml", "--in-place", "--set",
                                "nvidia-container-runtime.mode=cdi", "--set", "disable-require",
                                "--set", "nvidia-container-runtime.runtimes=crun:runc", "--set",
                                "nvidia-container-cli.root=/run/nvidia/driver"}),
            "");
  EXPECT_EQ(Get("/config.toml"),
            "# ours\ndisable-require = true  # why\n\n[nvidia-container-runtime]\n"
            "runtimes = [\"crun\", \"runc\"]\nmode = \"cdi\"\n#runtimes = []\n[other]\n"
            "mode = \"kept\"\n\n[nvidia-container-cli]\nroot = \"/run/nvidia/driver\"\n");
  EXPECT_THAT(Run(ConfigCommand, {"--config", folder_ + "/config.toml", "--set", "no.such=1"}),
              HasSubstr("no.such"));
  EXPECT_THAT(
      Run(ConfigCommand, {"--config", folder_ + "/config.toml", "--set", "disable-require=x"}),
      HasSubstr("x"));
}

TEST(ConfigFile, AKeyIsSetHoweverItIsWritten) {
  const auto set = [](const std::string& text, std::string_view key,
                      std::optional<std::string_view> value) {
    const auto done = SetConfigKey(text, key, value, ":");
    return done ? *done : done.error().message;
  };
  constexpr char kRuntimes[] = "nvidia-container-runtime.runtimes";
  EXPECT_EQ(set("[nvidia-container-runtime]\nruntimes = [\n  'runc', # a\n  'crun',\n] # b\n",
                kRuntimes, "x:y"),
            "[nvidia-container-runtime]\nruntimes = [\"x\", \"y\"] # b\n");
  EXPECT_EQ(set("nvidia-container-runtime.runtimes = ['runc']", kRuntimes, "x"),
            "nvidia-container-runtime.runtimes = [\"x\"]");
  EXPECT_EQ(set("nvidia-container-runtime = {runtimes = ['runc'], mode = 'cdi'}", kRuntimes, "x"),
            "nvidia-container-runtime = {runtimes = [\"x\"], mode = 'cdi'}");
  EXPECT_EQ(set("[\"nvidia-container-runtime\"]\n\"runtimes\" = []", kRuntimes, "x"),
            "[\"nvidia-container-runtime\"]\n\"runtimes\" = [\"x\"]");
  // Tables that have not got the key yet.
  constexpr char kRoot[] = "nvidia-container-cli.root";
  EXPECT_EQ(set("  [ 'nvidia-container-cli' ]", kRoot, "/x"),
            "  [ 'nvidia-container-cli' ]\nroot = \"/x\"\n");
  EXPECT_EQ(set("nvidia-container-cli = {path = 'p'}", kRoot, "/x"),
            "nvidia-container-cli = {root = \"/x\", path = 'p'}");
  EXPECT_EQ(set("nvidia-container-cli.path = 'p'\n", kRoot, "/x"),
            "nvidia-container-cli.root = \"/x\"\nnvidia-container-cli.path = 'p'\n");
  EXPECT_THAT(set("[nvidia-container-runtime]\nmodes.cdi.default-kind = 'a/b'\n",
                  "nvidia-container-runtime.modes.cdi.spec-dirs", "/x"),
              HasSubstr("cannot be added to"));
  EXPECT_THAT(set("[", kRoot, "/x"), HasSubstr("line 1"));
  EXPECT_THAT(set("", kRoot, std::nullopt), HasSubstr("is missing"));
  EXPECT_THAT(set("", kRoot, ""), HasSubstr("root = \"\""));
  EXPECT_EQ(set("", "disable-require", std::nullopt), "disable-require = true\n");
  EXPECT_THAT(set("", "disable-require", ""), Not(HasSubstr("true")));
}

TEST(ConfigFile, APathThatIsGivenCountsWhetherThereOrNot) {
  ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", "/nowhere/config.toml", 1);
  EXPECT_EQ(FindConfigFile(), "/nowhere/config.toml");
  EXPECT_EQ(LoadConfig()->mode, RuntimeConfig{}.mode);
  ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", "", 1);
  EXPECT_NE(FindConfigFile(), "/nowhere/config.toml");
  ::unsetenv("NVIDIA_CTK_CONFIG_FILE_PATH");
}

TEST_F(CliTest, TheHookOfADocumentIsFoundInThePath) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", ("." + (":" + folder_)).c_str(), 1);
  EXPECT_EQ(FindHookProgram().path, "/usr/bin/nvidia-cdi-hook");
  Put("/nvidia-cdi-hook", "");
  fs::permissions(folder_ + "/nvidia-cdi-hook", fs::perms::owner_all);
  EXPECT_EQ(FindHookProgram().path, folder_ + "/nvidia-cdi-hook");
  EXPECT_FALSE(FindHookProgram().ours) << "it is not Gantry's";
  fs::remove(folder_ + "/nvidia-cdi-hook");
  fs::create_symlink("/proc/self/exe", folder_ + "/nvidia-cdi-hook");
  EXPECT_TRUE(FindHookProgram().ours) << "this program under another name";
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(CliTest, ConfigDefaultIsComplete) {
  EXPECT_EQ(Run(ConfigCommand, {"default", "--output", folder_ + "/made/config.toml"}), "");
  const auto read = ParseRuntimeConfig(Get("/made/config.toml"));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const RuntimeConfig initial;
  EXPECT_EQ(read->accept_environment, initial.accept_environment);
  EXPECT_EQ(read->mode, initial.mode);
  EXPECT_EQ(read->runtimes, initial.runtimes);
  EXPECT_EQ(read->supported_capabilities, initial.supported_capabilities);
  EXPECT_EQ(read->spec_dirs, initial.spec_dirs);
  EXPECT_EQ(read->default_kind, initial.default_kind);
  EXPECT_EQ(read->annotation_prefixes, initial.annotation_prefixes);
  EXPECT_EQ(read->csv_folder, initial.csv_folder);
}

TEST(ConfigFile, AKeyOfAnotherTypeIsNamed) {
  EXPECT_THAT(ParseRuntimeConfig("disable-require = 1").error().message,
              HasSubstr("disable-require"));
  EXPECT_THAT(ParseRuntimeConfig("[nvidia-container-runtime]\nruntimes = 'runc'").error().message,
              HasSubstr("runtimes"));
  EXPECT_THAT(ParseRuntimeConfig("swarm-resource = 'A, B'")->swarm_resources,
              ElementsAre("A", "B"));
}

constexpr char kProcDevices[] =
    "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n236 nvidia-caps\n511 nvidia-uvm\n\n"
    "Block devices:\n  8 nvidia-uvm\n";

TEST(DeviceNumbers, OfControlNodes) {
  EXPECT_THAT(ControlNodes(kProcDevices),
              ElementsAre(NamedNode{"/dev/nvidiactl", {195, 255}},
                          NamedNode{"/dev/nvidia-modeset", {195, 254}},
                          NamedNode{"/dev/nvidia-uvm", {511, 0}},
                          NamedNode{"/dev/nvidia-uvm-tools", {511, 1}}));
  EXPECT_THAT(ControlNodes("195 nvidia-frontend\n"),
              testing::Contains(NamedNode{"/dev/nvidiactl", {195, 255}}));
  EXPECT_THAT(ControlNodes("Character devices:\n  1 mem\n"), IsEmpty());
}

TEST(DeviceNumbers, OfEverythingThatCanBe) {
  const auto nodes = PossibleNodes(kProcDevices, "config 1\ngpu0/gi0/access 3\n",
                                   {{"GPU-1", 0, 7, "0000:01:00.0", {}}});
  EXPECT_THAT(nodes, AllOf(testing::Contains(NamedNode{"/dev/nvidia7", {195, 7}}),
                           testing::Contains(NamedNode{"/dev/nvidia-caps/nvidia-cap3", {236, 3}})));
}

TEST(DeviceNumbers, TargetsOfLinks) {
  EXPECT_EQ(RelativeTarget("/dev/char", "/dev/nvidia0"), "../nvidia0");
  EXPECT_EQ(RelativeTarget("/dev/char", "/dev/nvidia-caps/nvidia-cap1"),
            "../nvidia-caps/nvidia-cap1");
  EXPECT_EQ(RelativeTarget("/tmp/char", "/dev/nvidia0"), "/dev/nvidia0");
}

TEST_F(CliTest, DevCharLinksOfTheNodesThatAreThere) {
  if (!MakeNode("/dev/nvidia0", gnu_dev_makedev(1, 3)) ||
      !MakeNode("/dev/nvidia-caps/nvidia-cap1", gnu_dev_makedev(1, 5))) {
    GTEST_SKIP() << "device nodes cannot be made here";
  }
  const std::string links = folder_ + "/char";
  fs::create_directories(links);
  fs::create_symlink("/elsewhere", links + "/1:5");
  const std::vector<std::string> words = {"--driver-root", folder_, "--dev-char-path", links};
  EXPECT_EQ(Run(CreateDevCharSymlinks, words), "");
  EXPECT_EQ(fs::read_symlink(links + "/1:3"), folder_ + "/dev/nvidia0");
  EXPECT_EQ(fs::read_symlink(links + "/1:5"), folder_ + "/dev/nvidia-caps/nvidia-cap1");
  fs::remove(links + "/1:3");
  std::vector<std::string> dry = words;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(Run(CreateDevCharSymlinks, dry), "");
  EXPECT_FALSE(fs::exists(links + "/1:3"));
  CliCall loud = Call(words);
  loud.words.insert(loud.words.end(), {"--create-device-nodes", "--load-kernel-modules"});
  loud.quiet = false;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(CreateDevCharSymlinks(loud).has_value());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("go with --create-all; ignored"));
  EXPECT_TRUE(fs::exists(links + "/1:3"));
}

TEST_F(CliTest, PrintLibraryCacheOfARoot) {
  fs::create_directories(folder_ + "/etc");
  fs::copy("/etc/ld.so.cache", folder_ + "/etc/ld.so.cache");
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run(PrintLibraryCache, {"--driver-root", folder_}), "");
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("libc.so.6 => "));
}

TEST(ApplicationProfileText, ABitForEachGpu) {
  EXPECT_THAT(ApplicationProfile({"nvidia0", "nvidia3", "nvidiactl", "nvidia-uvm", "null"}),
              HasSubstr(R"(["EGLVisibleDGPUDevices", 0x9])"));
  EXPECT_TRUE(ParseJson(ApplicationProfile({})).has_value() == false);
  EXPECT_EQ(ApplicationProfile({"nvidiactl", "nvidia64"}), "");
}

TEST(Cli, HelpIsNoMistake) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"--help"}, {"-h"}, {"help"}, {"cdi", "generate", "--help"}, {"hook", "-h"}}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunToolkitCli("nvidia-ctk", words), 0);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("runtime configure"));
  }
}

TEST(Cli, WhatIsWrongIsNamedBeforeTheUsage) {
  const auto said = [](const std::vector<std::string>& words) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunToolkitCli("nvidia-ctk", words), 1);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said({"of-tomorrow"}),
              AllOf(HasSubstr("read of-tomorrow: there is no such command"), HasSubstr("usage:")));
  EXPECT_THAT(said({"cdi"}), HasSubstr("read cdi: there is no such command"));
  EXPECT_THAT(said({"cdi", "print"}), HasSubstr("read cdi print: there is no such command"));
  EXPECT_THAT(said({"--bogus", "cdi", "list"}), HasSubstr("read --bogus: there is no such flag"));
  EXPECT_THAT(said({"--config"}), HasSubstr("read --config: its value is missing"));
  EXPECT_THAT(said({"--quiet"}), HasSubstr("usage:"));
  ::setenv("NVIDIA_CTK_QUIET", "yes", 1);
  EXPECT_THAT(said({"cdi", "list"}), HasSubstr("NVIDIA_CTK_QUIET"));
  ::unsetenv("NVIDIA_CTK_QUIET");
}

TEST(Cli, FlagsAndTheirValues) {
  const std::vector<Flag> flags = {
      {{"a", "alias"}}, {{"s"}, Flag::Takes::kNothing}, {{"e"}, Flag::Takes::kValue, {"E"}}};
  const auto environment = [](const std::string& name) {
    return name == "E" ? std::optional<std::string>("x,y") : std::nullopt;
  };
  const auto read =
      FlagWords::Parse({"--alias", "1", "-a=2", "word", "--s", "-"}, flags, environment);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->Text("a"), "2");
  EXPECT_THAT(read->Values("a"), ElementsAre("1", "2"));
  EXPECT_TRUE(read->On("s"));
  EXPECT_THAT(read->List("e"), ElementsAre("x", "y"));
  EXPECT_THAT(read->rest(), ElementsAre("word", "-"));
  EXPECT_FALSE(FlagWords::Parse({"--s=maybe"}, flags, environment).has_value());
  EXPECT_FALSE(FlagWords::Parse({"--a"}, flags, environment).has_value());
  EXPECT_FALSE(FlagWords::Parse({"--s=false"}, flags, environment)->On("s"));
  const auto empty = FlagWords::Parse({"--a=1", "--a=", "--e=,"}, flags, environment);
  EXPECT_EQ(empty->Text("a", "default"), "default");
  EXPECT_THAT(empty->List("e", {"default"}), ElementsAre("default"));
  EXPECT_THAT(empty->Values("a"), ElementsAre("1", ""));
}

// Taken for "off", DRY_RUN=yes would act.
TEST(Cli, AVariableThatIsNoBooleanIsAMistake) {
  const std::vector<Flag> flags = {{{"dry-run"}, Flag::Takes::kNothing, {"DRY_RUN"}}};
  std::string value = "yes";
  const auto environment = [&](const std::string&) { return std::optional(value); };
  EXPECT_THAT(FlagWords::Parse({}, flags, environment).error().message,
              AllOf(HasSubstr("DRY_RUN"), HasSubstr("yes")));
  EXPECT_TRUE(FlagWords::Parse({"--dry-run"}, flags, environment)->On("dry-run"));
  value = "1";
  EXPECT_TRUE(FlagWords::Parse({}, flags, environment)->On("dry-run"));
}

}  // namespace
}  // namespace gantry::container_runtime
