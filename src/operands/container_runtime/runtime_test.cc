// SPDX-License-Identifier: Apache-2.0
// Which containers get a GPU by asking for it, and what becomes of their configuration.
#include "operands/container_runtime/runtime.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "operands/container_runtime/device_requests.h"
#include "operands/container_runtime/inject.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Json Config(const std::string& visible, bool privileged) {
  Json config = {{"process", {{"env", {"PATH=/bin"}}}}, {"root", {{"path", "rootfs"}}}};
  if (!visible.empty()) {
    config["process"]["env"].push_back("NVIDIA_VISIBLE_DEVICES=" + visible);
  }
  config["process"]["capabilities"]["bounding"] =
      privileged ? Json{"CAP_SYS_ADMIN"} : Json{"CAP_CHOWN"};
  return config;
}

TEST(DeviceRequests, TheVariableAloneGivesNothing) {
  RuntimeConfig settings;
  const auto requests = RequestedDevices(Config("all", false), settings);
  EXPECT_THAT(requests->devices, IsEmpty());
  EXPECT_THAT(requests->refused, HasSubstr("not privileged"));
  settings.accept_environment = true;
  EXPECT_THAT(RequestedDevices(Config("all", false), settings)->devices, SizeIs(1));
}

TEST(DeviceRequests, PrivilegedContainersMayAsk) {
  EXPECT_THAT(RequestedDevices(Config("0,GPU-1, nvidia.com/gpu=2", true), {})->devices,
              ElementsAre(DeviceRequest{"", "0"}, DeviceRequest{"", "GPU-1"},
                          DeviceRequest{"nvidia.com/gpu", "2"}));
  EXPECT_THAT(RequestedDevices(Config("void", true), {})->devices, IsEmpty());
  EXPECT_THAT(RequestedDevices(Config("", true), {})->devices, IsEmpty());
  EXPECT_THAT(RequestedDevices(Config("none", true), {})->devices,
              ElementsAre(DeviceRequest{"", "none"}));
}

TEST(DeviceRequests, AnnotationsComeFirst) {
  Json config = Config("all", true);
  config["annotations"] = {{"cdi.k8s.io/x", "a.com/gpu=1,a.com/gpu=2"}, {"other", "a.com/gpu=3"}};
  RuntimeConfig settings;
  settings.mode = "cdi";
  EXPECT_THAT(RequestedDevices(config, settings)->devices,
              ElementsAre(DeviceRequest{"a.com/gpu", "1"}, DeviceRequest{"a.com/gpu", "2"}));
  settings.mode = "auto";
  EXPECT_THAT(RequestedDevices(config, settings)->devices,
              ElementsAre(DeviceRequest{"a.com/gpu", "1"}, DeviceRequest{"a.com/gpu", "2"}));
  config["annotations"]["cdi.k8s.io/y"] = "3";
  EXPECT_THAT(RequestedDevices(config, settings)->devices, ElementsAre(DeviceRequest{"", "all"}))
      << "3 is no CDI name";
  settings.mode = "jit-cdi";
  config["annotations"].erase("cdi.k8s.io/y");
  EXPECT_THAT(RequestedDevices(config, settings)->devices, ElementsAre(DeviceRequest{"", "all"}));
}

TEST(DeviceRequests, VolumeMountsOnlyWhereAllowed) {
  Json config = Config("", false);
  const std::string folder = "/var/run/nvidia-container-devices/";
  config["mounts"] = {{{"source", "/dev/null"}, {"destination", folder + "GPU-1"}},
                      {{"source", "/dev/null"}, {"destination", folder + "cdi/a.com/gpu/2"}},
                      {{"source", "/dev/null"}, {"destination", folder + "imex/0"}},
                      {{"source", "/x"}, {"destination", folder + "GPU-9"}}};
  EXPECT_THAT(RequestedDevices(config, {})->devices, IsEmpty());
  RuntimeConfig settings;
  settings.accept_mounts = true;
  EXPECT_THAT(RequestedDevices(config, settings)->devices,
              ElementsAre(DeviceRequest{"", "GPU-1"}, DeviceRequest{"a.com/gpu", "2"}));
}

TEST(RuntimeCall, OnlyCreateOfTheRightBundle) {
  const auto call = ReadRuntimeCall({"--root", "/run/runc", "--log=/l.json", "create", "--bundle",
                                     "/b", "--pid-file", "p", "id", "--log-format", "json"});
  EXPECT_TRUE(call.create);
  EXPECT_EQ(call.bundle, "/b");
  EXPECT_EQ(call.log_file, "/l.json");
  EXPECT_TRUE(call.json_log);
  EXPECT_FALSE(ReadRuntimeCall({"start", "id"}).create);
  EXPECT_FALSE(ReadRuntimeCall({"run", "--bundle", "create", "id"}).create);
}

TEST(RuntimeCall, TheVersionNamesTheSpecification) {
  EXPECT_THAT(RuntimeVersion(),
              testing::MatchesRegex("NVIDIA Container Runtime version .*\nspec: 1\\..*\n"));
}

TEST(RuntimeConfigFile, ReadsNvidiasKeys) {
  const auto config = ParseRuntimeConfig(
      "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n"
      "unknown = 1\n[nvidia-container-runtime]\nruntimes = ['crun']\n"
      "[nvidia-container-runtime.modes.cdi]\ndefault-kind = 'a.com/b'\nspec-dirs = ['/s']\n");
  EXPECT_TRUE(config->accept_environment);
  EXPECT_THAT(config->runtimes, ElementsAre("crun"));
  EXPECT_EQ(config->default_kind, "a.com/b");
  EXPECT_THAT(config->spec_dirs, ElementsAre("/s"));
  EXPECT_FALSE(ParseRuntimeConfig("")->accept_environment);
  EXPECT_THAT(ParseRuntimeConfig("a = \n").error().message, HasSubstr("line 1"));
}

class InjectTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ + "/management.yaml") << R"({"cdiVersion": "0.5.0", "kind": "m.com/gpu",
      "devices": [{"name": "all", "containerEdits": {"deviceNodes": [{"path": "/dev/gpu0",
        "hostPath": "/dev/null"}]}}],
      "containerEdits": {"env": ["NVIDIA_VISIBLE_DEVICES=void"],
        "mounts": [{"hostPath": "/lib/a", "containerPath": "/lib/a", "options": ["ro"]}],
        "hooks": [{"hookName": "createContainer", "path": "/h", "args": ["h"]}]}})";
    settings_.default_kind = "m.com/gpu";
    settings_.mode = "cdi";
    settings_.spec_dirs = {folder_};
  }

  Status Inject(const Json& config) {
    std::ofstream(folder_ + "/config.json") << config.dump();
    fs::permissions(folder_ + "/config.json", fs::perms(0640));
    return InjectDevices(folder_, settings_, {}, warnings_);
  }
  Json Result() { return ParseJson(ReadFile(folder_ + "/config.json").value()).value(); }

  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
  RuntimeConfig settings_;
  std::vector<std::string> warnings_;
};

TEST_F(InjectTest, AllOfADocument) {
  Json config = Config("all", true);
  config["mounts"] = {{{"destination", "/lib/a"}, {"source", "/other"}}};
  ASSERT_TRUE(Inject(config).has_value());
  const Json result = Result();
  EXPECT_EQ(result["process"]["env"], (Json{"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=void"}));
  ASSERT_EQ(result["linux"]["devices"].size(), 1U);
  EXPECT_EQ(result["linux"]["devices"][0]["path"], "/dev/gpu0");
  EXPECT_EQ(result["linux"]["devices"][0]["major"], 1);
  EXPECT_EQ(result["linux"]["devices"][0]["minor"], 3);
  EXPECT_EQ(result["linux"]["resources"]["devices"][0]["access"], "rwm");
  ASSERT_EQ(result["mounts"].size(), 1U);
  EXPECT_EQ(result["mounts"][0]["source"], "/lib/a");
  EXPECT_EQ(result["hooks"]["createContainer"][0]["path"], "/h");
  EXPECT_EQ(fs::status(folder_ + "/config.json").permissions(), fs::perms(0640));
}

TEST_F(InjectTest, TwiceIsOnce) {
  ASSERT_TRUE(Inject(Config("all", true)).has_value());
  const Json once = Result();
  Json again = once;
  again["process"]["env"].push_back("NVIDIA_VISIBLE_DEVICES=all");
  ASSERT_TRUE(Inject(again).has_value());
  EXPECT_EQ(Result()["hooks"], once["hooks"]);
  EXPECT_EQ(Result()["linux"], once["linux"]);
  EXPECT_EQ(Result()["mounts"], once["mounts"]);
}

TEST_F(InjectTest, WhoAsksForNothingIsNotTouched) {
  const Json config = Config("void", true);
  ASSERT_TRUE(Inject(config).has_value());
  EXPECT_EQ(ReadFile(folder_ + "/config.json").value(), config.dump());
}

TEST_F(InjectTest, UnknownDeviceFailsTheStart) {
  const Status done = Inject(Config("GPU-nowhere", true));
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("GPU-nowhere"));
}

// With another configuration than its owner's, the container would start without GPUs.
TEST_F(InjectTest, TheLegacyHookReadsTheFileThatItIsGiven) {
  std::ofstream(folder_ + "/config.toml")
      << "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n";
  std::ofstream(folder_ + "/config.json") << Config("all", false).dump();
  std::ofstream(folder_ + "/state.json") << Json{{"bundle", folder_}}.dump();
  const Fd before(::dup(STDIN_FILENO));
  const auto hook = [&](const std::vector<std::string>& words) {
    const Fd state(::open((folder_ + "/state.json").c_str(), O_RDONLY | O_CLOEXEC));
    ::dup2(state.get(), STDIN_FILENO);
    ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", "/nonexistent", 1);
    testing::internal::CaptureStderr();
    const int status = RunLegacyHook("hook", words);
    testing::internal::GetCapturedStderr();
    return status;
  };
  EXPECT_EQ(hook({"prestart"}), 0);
  EXPECT_EQ(hook({"-config", folder_ + "/config.toml", "prestart"}), 1);
  EXPECT_EQ(hook({"-config=" + folder_ + "/config.toml", "prestart"}), 1);
  Json annotated = Config("", false);
  annotated["annotations"] = {{"cdi.k8s.io/x", "nvidia.com/gpu=0"}};
  std::ofstream(folder_ + "/config.json") << annotated.dump();
  EXPECT_EQ(hook({"-config", folder_ + "/config.toml", "prestart"}), 0)
      << "the engine gives what CDI annotations name";
  ::unsetenv("NVIDIA_CTK_CONFIG_FILE_PATH");
  ::dup2(before.get(), STDIN_FILENO);
}

TEST_F(InjectTest, NoneGivesTheDriverWithoutGpus) {
  ASSERT_TRUE(Inject(Config("none", true)).has_value());
  EXPECT_FALSE(Result().contains("linux"));
  EXPECT_EQ(Result()["mounts"].size(), 1U);
}

}  // namespace
}  // namespace gantry::container_runtime
