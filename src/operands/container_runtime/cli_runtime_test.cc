// SPDX-License-Identifier: Apache-2.0
// nvidia-ctk runtime configure: what it writes for each engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "operands/container_runtime/runtime_config.h"
#include "operands/container_runtime/testing/cli_fixture.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConfigureTest : public CliTest {
 protected:
  std::string Configure() {
    return Run(RuntimeConfigure,
               {"--runtime=containerd", "--config", folder_ + "/containerd/config.toml",
                "--drop-in-config", folder_ + "/containerd/conf.d/99-nvidia.toml",
                "--executable-path", "/nonexistent", "--set-as-default", "--cdi.enabled"});
  }
};

// A drop-in in config.d, which nothing imports, has no effect.
TEST_F(ConfigureTest, Nct1404_TheFolderOfTheDropInIsImported) {
  Put("/containerd/config.toml", "version = 3\n");
  EXPECT_EQ(Configure(), "");
  EXPECT_THAT(Get("/containerd/config.toml"), HasSubstr(folder_ + "/containerd/conf.d/"));
  EXPECT_NE(Get("/containerd/conf.d/99-nvidia.toml"), "(absent)");
}

// The owner's imports were thrown away.
TEST_F(ConfigureTest, NctPr1382_TheOwnersImportsStay) {
  Put("/containerd/config.toml", "version = 3\nimports = [\"/etc/containerd/site.toml\"] # ours\n");
  EXPECT_EQ(Configure(), "");
  EXPECT_THAT(Get("/containerd/config.toml"), AllOf(HasSubstr("\"/etc/containerd/site.toml\""),
                                                    HasSubstr("/conf.d/"), HasSubstr("# ours")));
  const std::string before = Get("/containerd/config.toml");
  EXPECT_EQ(Configure(), "");
  EXPECT_EQ(Get("/containerd/config.toml"), before) << "a second time changes nothing";
}

// A runtime without its type, which containerd 2 refuses to start.
TEST_F(ConfigureTest, Nct1956_EachRuntimeHasItsType) {
  Put("/containerd/config.toml", "version = 3\n");
  EXPECT_EQ(Configure(), "");
  const std::string drop_in = Get("/containerd/conf.d/99-nvidia.toml");
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = drop_in.find(text); at != std::string::npos; at = drop_in.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("runtime_type"), 4U) << drop_in;  // with runc, which the table would displace
  EXPECT_EQ(count("BinaryName"), 3U);
}

TEST_F(CliTest, RuntimeConfigureOfCrioAndDocker) {
  const std::string drop_in = folder_ + "/crio.conf.d/99-nvidia.toml";
  EXPECT_EQ(Run(RuntimeConfigure, {"--runtime=crio", "--drop-in-config", drop_in}), "");
  EXPECT_THAT(Get("/crio.conf.d/99-nvidia.toml"), HasSubstr("/usr/bin/nvidia-container-runtime"));
  Put("/daemon.json", "{\n  \"debug\": true\n}\n");
  EXPECT_EQ(Run(RuntimeConfigure, {"--config", folder_ + "/daemon.json", "--cdi.enabled"}), "");
  EXPECT_THAT(Get("/daemon.json"), AllOf(HasSubstr("\"debug\": true"), HasSubstr("\"cdi\""),
                                         HasSubstr("/usr/bin/nvidia-container-runtime.cdi")));
}

TEST_F(CliTest, RuntimeConfigureTakesAnyRuntime) {
  const std::string docker = folder_ + "/daemon.json";
  EXPECT_EQ(
      Run(RuntimeConfigure, {"--config", docker, "--nvidia-runtime-path=nvidia-container-runtime"}),
      "");
  EXPECT_THAT(Get("/daemon.json"), AllOf(HasSubstr("\"path\":\"nvidia-container-runtime\""),
                                         HasSubstr("\"path\":\"nvidia-container-runtime.cdi\"")));
  const auto crio = [&](const std::string& path) {
    return Run(RuntimeConfigure, {"--runtime=crio", "--drop-in-config", folder_ + "/crio/99.toml",
                                  "--config-mode=of-tomorrow", "--runtime-path", path});
  };
  EXPECT_EQ(crio("nvidia-container-runtime"), "");
  EXPECT_THAT(Get("/crio/99.toml"), HasSubstr("\"/usr/bin/nvidia-container-runtime\""));
  EXPECT_EQ(crio("/opt/wrapped"), "");
  EXPECT_THAT(Get("/crio/99.toml"), HasSubstr("\"/opt/wrapped\""));
  EXPECT_THAT(crio("wrapped"), HasSubstr("no absolute path"));
}

TEST_F(CliTest, RuntimeConfigureWithoutADropIn) {
  Put("/config.toml", "version = 3\n");
  EXPECT_EQ(Run(RuntimeConfigure, {"--runtime=containerd", "--config", folder_ + "/config.toml",
                                   "--drop-in-config=", "--executable-path", "/nonexistent"}),
            "");
  EXPECT_THAT(Get("/config.toml"), AllOf(HasSubstr("runtimes.nvidia]"), Not(HasSubstr("imports"))));
  EXPECT_THAT(Run(RuntimeConfigure, {"--runtime=crio", "--drop-in-config="}), HasSubstr("CRI-O"));
}

TEST_F(CliTest, RuntimeConfigureDoesWhatItsOwnerAsksFor) {
  Put("/daemon.json", "{\"default-runtime\": \"runc\", \"features\": {\"cdi\": false}}\n");
  EXPECT_EQ(Run(RuntimeConfigure,
                {"--config", folder_ + "/daemon.json", "--cdi.enabled", "--set-as-default"}),
            "");
  EXPECT_THAT(Get("/daemon.json"),
              AllOf(HasSubstr("\"default-runtime\": \"nvidia\""), HasSubstr("\"cdi\": true")));
  Put("/config.toml",
      "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
      "default_runtime_name = \"runc\"\n");
  EXPECT_EQ(Run(RuntimeConfigure,
                {"--runtime=containerd", "--config", folder_ + "/config.toml",
                 "--drop-in-config=", "--set-as-default", "--executable-path", "/nonexistent"}),
            "");
  EXPECT_THAT(Get("/config.toml"), HasSubstr("default_runtime_name = \"nvidia\""));
}

TEST_F(CliTest, RuntimeConfigureTakesNoDropInThatIsNotRead) {
  const auto with = [&](const std::string& runtime, const std::string& drop_in) {
    return Run(RuntimeConfigure, {"--dry-run", "--runtime", runtime, "--config", folder_ + "/root",
                                  "--drop-in-config", drop_in});
  };
  EXPECT_THAT(with("containerd", "conf.d/x.toml"), HasSubstr("no absolute path"));
  EXPECT_THAT(with("docker", folder_ + "/x.json"), HasSubstr("Docker"));
}

TEST_F(CliTest, RuntimeConfigureFromFiles) {
  const auto from = [&](const std::string& source) {
    return Run(RuntimeConfigure, {"--config", folder_ + "/daemon.json", "--config-source", source});
  };
  EXPECT_THAT(from("bogus"), HasSubstr("bogus"));
  EXPECT_EQ(from("command"), "");
}

// Before 2.1 a later file's table of the CRI plugin replaces Gantry's.
TEST_F(CliTest, RuntimeConfigureIsReadLast) {
  fs::create_directories(folder_ + "/conf.d");
  std::ofstream(folder_ + "/config.toml")
      << "version = 2\nimports = [\"" << folder_ << "/conf.d/*.toml\"]\n";
  std::ofstream(folder_ + "/conf.d/registries.toml")
      << "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"/x\"\n";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        Run(RuntimeConfigure,
            {"--runtime", "containerd", "--config", folder_ + "/config.toml", "--drop-in-config",
             folder_ + "/conf.d/99-nvidia.toml", "--executable-path", "/not/there"}),
        "");
    EXPECT_FALSE(fs::exists(folder_ + "/conf.d/99-nvidia.toml"));
    const std::string drop_in = ReadFile(folder_ + "/conf.d/zz-nvidia.toml").value_or("");
    EXPECT_THAT(drop_in, HasSubstr("nvidia-container-runtime"));
    EXPECT_THAT(drop_in, HasSubstr("config_path = \"/x\"")) << "it repeats the other's table";
  }
}

TEST_F(CliTest, RuntimeConfigureDryRunWritesNothing) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run(RuntimeConfigure,
                {"--runtime", "containerd", "--dry-run", "--config", folder_ + "/config.toml",
                 "--drop-in-config", folder_ + "/conf.d/99-nvidia.toml"}),
            "");
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("nvidia-container-runtime"));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_THAT(Run(RuntimeConfigure, {"--runtime", "lxc"}), HasSubstr("lxc"));
  EXPECT_THAT(Run(RuntimeConfigure, {"--config-mode", "oci-hook"}), HasSubstr("oci-hook"));
}

}  // namespace
}  // namespace gantry::container_runtime
