// SPDX-License-Identifier: Apache-2.0
// Flags and variables of NVIDIA's installer, and the files that they lead to.
#include "operands/container_toolkit/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/paths.h"
#include "operands/container_runtime/runtime_config.h"
#include "operands/container_toolkit/container_toolkit.h"
#include "operands/container_toolkit/desired_files.h"

namespace gantry::container_toolkit {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Result<Options> Parse(const std::vector<std::string>& words,
                      std::map<std::string, std::string> variables = {}) {
  return ParseOptions(words, [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Options, TheOperatorsEnvironment) {
  const auto options = Parse({}, {{"ROOT", "/opt/nvidia"},
                                  {"CDI_ENABLED", "true"},
                                  {"NVIDIA_RUNTIME_SET_AS_DEFAULT", "false"},
                                  {"NVIDIA_CONTAINER_RUNTIME_MODE", "cdi"},
                                  {"RUNTIME", "containerd"},
                                  {"CONTAINERD_RUNTIME_CLASS", "gpu"},
                                  {"CONTAINERD_CONFIG", "/k3s/config.toml"},
                                  {"CONTAINERD_SOCKET", "/run/k3s/containerd.sock"},
                                  {"RUNTIME_DROP_IN_CONFIG", "/k3s/conf.d/x.toml"},
                                  {"HOST_ROOT_MOUNT", "/h"},
                                  {"DRIVER_INSTALL_DIR", "/home/kubernetes/bin/nvidia"},
                                  {"WITH_DRIVER_CONTAINER", "false"},
                                  {"CRIO_CONFIG_MODE", "config"}});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(ToolkitDir(*options), "/opt/nvidia/toolkit");
  EXPECT_TRUE(options->cdi_enabled);
  EXPECT_FALSE(options->set_as_default);
  EXPECT_EQ(options->runtime_mode, "cdi");
  EXPECT_EQ(options->runtime_name, "gpu");
  EXPECT_EQ(options->driver_install_dir, "/home/kubernetes/bin/nvidia");
  EXPECT_FALSE(options->with_driver_container);
  EXPECT_EQ(options->runtime_config, "/k3s/config.toml");
  EXPECT_EQ(options->socket, "/run/k3s/containerd.sock");
  EXPECT_EQ(options->drop_in_config, "/k3s/conf.d/x.toml");
  EXPECT_EQ(options->host_root, "/h");
  EXPECT_THAT(options->remarks, IsEmpty());
}

// Of these two an empty value is one; manifests set others empty and mean nothing by it.
TEST(Options, AnEmptyVariableSwitchesTheDocumentAndTheNodesOff) {
  const auto options = Parse(
      {},
      {{"CDI_ENABLED", "true"}, {"CDI_OUTPUT_DIR", ""}, {"CREATE_DEVICE_NODES", ""}, {"ROOT", ""}});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(ManagementCdiPath(*options), "");
  EXPECT_EQ(options->create_device_nodes, "");
  EXPECT_EQ(options->install_dir, Options{}.install_dir);
}

TEST(Options, FlagsCountMoreThanVariables) {
  const auto options =
      Parse({"--cdi-enabled=false", "--root", "/a", "-r", "crio", "--no-runtime-config"},
            {{"CDI_ENABLED", "true"}, {"ROOT", "/b"}});
  EXPECT_FALSE(options->cdi_enabled);
  EXPECT_EQ(options->install_dir, "/a");
  EXPECT_EQ(options->runtime, "crio");
  EXPECT_TRUE(options->no_runtime_config);
}

TEST(Options, AListIsWhatStandsBetweenCommasOfAllItsFlags) {
  const auto options =
      Parse({"--opt-in-features=a", "--opt-in-features", "b, c,", "--config-source=command, file",
             "--nvidia-container-runtime.runtimes="},
            {{"NVIDIA_CONTAINER_TOOLKIT_OPT_IN_FEATURES", "of-the-variable"},
             {"NVIDIA_CONTAINER_RUNTIME_RUNTIMES", "of-the-variable"},
             {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES", "a, b"}});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_THAT(options->opt_in_features, ElementsAre("a", "b", "c"));
  EXPECT_THAT(options->low_level_runtimes, IsEmpty());
  EXPECT_THAT(options->nri_management_namespaces, ElementsAre("a", "b"));
}

TEST(Options, TheVersionIsNoMistake) {
  std::string program = "nvidia-ctk-installer";
  std::string version = "--version";
  std::array<char*, 2> argv = {program.data(), version.data()};
  EXPECT_EQ(RunContainerToolkit(static_cast<int>(argv.size()), argv.data()), 0);
}

TEST(Options, WhatIsWrongIsNamed) {
  EXPECT_THAT(Parse({"--of-tomorrow"}).error().message, HasSubstr("--of-tomorrow"));
  EXPECT_THAT(Parse({"word"}).error().message, HasSubstr("word"));
  EXPECT_THAT(Parse({"root=/a"}).error().message, HasSubstr("root=/a"));
  EXPECT_THAT(Parse({"--root"}).error().message, HasSubstr("value is missing"));
  EXPECT_THAT(Parse({"--runtime=podman"}).error().message, HasSubstr("podman"));
  EXPECT_THAT(Parse({}, {{"CDI_ENABLED", "perhaps"}}).error().message, HasSubstr("CDI_ENABLED"));
}

TEST(Options, ValuesThatNvidiasInstallerRefusesToo) {
  EXPECT_THAT(Parse({"--pid-file=/run/x.pid"}).error().message, HasSubstr("toolkit.pid"));
  EXPECT_THAT(Parse({"--create-device-nodes=all"}).error().message, HasSubstr("all"));
  EXPECT_THAT(Parse({"--toolkit-package-type=apk"}).error().message, HasSubstr("apk"));
  EXPECT_THAT(Parse({"--config-source=guess"}).error().message, HasSubstr("guess"));
  EXPECT_THAT(Parse({"--runtime-config-override=["}).error().message,
              HasSubstr("runtime-config-override"));
  EXPECT_THAT(Parse({"--runtime-config-override=1"}).error().message, HasSubstr("no JSON object"));
  EXPECT_THAT(Parse({"--config-mode=both"}).error().message, HasSubstr("both"));
  EXPECT_THAT(Parse({"--debug=perhaps"}).error().message, HasSubstr("debug"));
}

TEST(Options, TheRestOfTheInstallersEnvironment) {
  const auto options = Parse({}, {{"TOOLKIT_PID_FILE", "/run/a/toolkit.pid"},
                                  {"CREATE_DEVICE_NODES", "none"},
                                  {"TOOLKIT_PACKAGE_TYPE", "rpm"},
                                  {"RUNTIME_CONFIG_SOURCE", "command,file"},
                                  {"CONTAINERD_USE_LEGACY_CONFIG", "true"},
                                  {"CRIO_CONFIG_MODE", "config"},
                                  {"CRIO_HOOKS_DIR", "/hooks"},
                                  {"CRIO_HOOK_FILENAME", "h.json"},
                                  {"NVIDIA_CONTAINER_CLI_DEBUG", "/var/log/cli"},
                                  {"NVIDIA_CONTAINER_RUNTIME_HOOK_SKIP_MODE_DETECTION", "false"},
                                  {"RUNTIME_CONFIG_OVERRIDE", "{}"}});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->pid_file, "/run/a/toolkit.pid");
  EXPECT_EQ(options->create_device_nodes, "");
  EXPECT_TRUE(options->use_legacy_config);
  EXPECT_EQ(options->hooks_dir, "/hooks");
  EXPECT_EQ(options->hook_filename, "h.json");
  EXPECT_EQ(options->cli_debug, "/var/log/cli");
  EXPECT_FALSE(options->skip_mode_detection);
  EXPECT_THAT(options->remarks, IsEmpty());
  const auto remarked = Parse({"--config-source=file=/x", "--runtime-config-override={\"a\": 1}",
                               "--ignore-errors", "--config-mode=hook", "--debug"});
  EXPECT_EQ(remarked->remarks.size(), 4U);
  EXPECT_TRUE(remarked->ignore_errors);
}

TEST(Options, NriPlugin) {
  const auto options =
      Parse({"--enable-nri-plugin"}, {{"NRI_PLUGIN_INDEX", "7"},
                                      {"NRI_SOCKET", "/run/x.sock"},
                                      {"NRI_NAMESPACE", "gpu-operator"},
                                      {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES", "a,b"}});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_TRUE(options->nri_plugin);
  EXPECT_EQ(options->nri_index, 7);
  EXPECT_EQ(options->nri_socket, "/run/x.sock");
  EXPECT_THAT(ManagementNamespaces(*options), ElementsAre("a", "b", "gpu-operator"));
  EXPECT_THAT(Parse({"-p"}).error().message, HasSubstr("--nri-namespace"));
  EXPECT_THAT(Parse({"--nri-plugin-index=100"}).error().message, HasSubstr("100"));
  const auto once = Parse({"-p", "-n", "--nri-namespace=x"});
  EXPECT_FALSE(once->nri_plugin) << "a plugin has to stay";
  EXPECT_EQ(once->remarks.size(), 1U);
}

TEST(Options, AnImagesVariableGivesNoGpuUnlessSwitchedOn) {
  EXPECT_FALSE(Parse({})->accept_environment);
  EXPECT_TRUE(Parse({}, {{"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "true"}})
                  ->accept_environment);
}

TEST(DesiredFiles, TwoProgramsUnderTheNamesOfNvidias) {
  const auto changes =
      DesiredFiles(*Parse({"--cdi-enabled"}), {"runtime", "ctk", "document", "/", {}});
  const std::string folder = "/usr/local/nvidia/toolkit/";
  const auto link = [&](const std::string& name, const char* program) {
    return AllOf(Field(&host::Change::path, folder + name),
                 Field(&host::Change::kind, host::Change::Kind::kSymlink),
                 Field(&host::Change::content, program));
  };
  for (const char* name : {"nvidia-cdi-hook", "nvidia-container-runtime",
                           "nvidia-container-runtime.cdi", "nvidia-container-runtime.legacy",
                           "nvidia-container-runtime-hook", "nvidia-container-toolkit"}) {
    EXPECT_THAT(changes, Contains(link(name, "gantry-runtime")));
  }
  EXPECT_THAT(changes, Contains(link("nvidia-ctk", "gantry-ctk")));
  const auto program = [&](const char* name, const char* source) {
    return AllOf(Field(&host::Change::path, folder + name), Field(&host::Change::source, source),
                 Field(&host::Change::mode, 0755U));
  };
  EXPECT_THAT(changes, Contains(program("gantry-runtime", "runtime")));
  EXPECT_THAT(changes, Contains(program("gantry-ctk", "ctk")));
  EXPECT_THAT(changes,
              Contains(Field(&host::Change::path, "/var/run/cdi/management.nvidia.com-gpu.yaml")));
}

// Releases before had nvidia-cdi-hook as a file of its own, with links that lead elsewhere.
TEST(DesiredFiles, ComeInThePlaceOfThoseBefore) {
  using Kind = host::Change::Kind;
  std::string pattern = "/tmp/desired_files.XXXXXX";
  const std::string root = ::mkdtemp(pattern.data());
  std::ofstream(root + "/runtime") << "runtime";
  std::ofstream(root + "/ctk") << "ctk";
  const auto options = Parse({});
  const std::string folder = ToolkitDir(*options);
  host::Journal journal = host::Journal::Open(root, kJournalFolder).value();
  ASSERT_TRUE(journal.Apply(
      {{Kind::kFile, folder + "/gantry-runtime", "all", 0755, std::nullopt},
       {Kind::kSymlink, folder + "/nvidia-ctk", "gantry-runtime", 0, std::nullopt},
       {Kind::kSymlink, folder + "/nvidia-container-runtime", "nvidia-cdi-hook", 0, std::nullopt},
       {Kind::kFile, folder + "/nvidia-cdi-hook", "one", 0755, std::nullopt}}));
  const auto changes = DesiredFiles(*options, {root + "/runtime", root + "/ctk", "", "/", {}});
  ASSERT_TRUE(journal.Apply(changes));
  const auto text = [&](const char* name) {
    return ReadFile(root + folder + "/" + name).value_or("");
  };
  EXPECT_EQ(text("nvidia-cdi-hook"), "runtime");
  EXPECT_EQ(text("nvidia-container-runtime"), "runtime");
  EXPECT_EQ(text("nvidia-ctk"), "ctk");
  EXPECT_THAT(journal.Apply(changes).value(), IsEmpty());
  std::filesystem::remove_all(root);
}

TEST(DesiredFiles, ConfigurationOfTheLegacyTools) {
  const auto options = Parse({"--opt-in-features=allow-cuda-compat-libs-from-container",
                              "--nvidia-container-cli.debug=/var/log/cli"});
  const std::string text =
      RuntimeConfigFile(*options, {"", "", "", "/run/nvidia/driver", {"/usr/libexec/crio/crun"}});
  EXPECT_THAT(text, HasSubstr("\n[features]\nallow-cuda-compat-libs-from-container = true\n"));
  EXPECT_THAT(text, HasSubstr("root = \"/run/nvidia/driver\""));
  EXPECT_THAT(text, HasSubstr("ldconfig = \"@/run/nvidia/driver/sbin/ldconfig\""));
  EXPECT_THAT(text, HasSubstr("debug = \"/var/log/cli\""));
  EXPECT_THAT(text, HasSubstr("skip-mode-detection = true"));
  EXPECT_THAT(RuntimesInConfigFile(text), ElementsAre("/usr/libexec/crio/crun", "runc", "crun"));
  EXPECT_THAT(RuntimesInConfigFile("["), IsEmpty());
}

TEST(DesiredFiles, NoDocumentWithoutCdi) {
  EXPECT_EQ(ManagementCdiPath(*Parse({})), "");
  EXPECT_EQ(ManagementCdiPath(*Parse({"--cdi-enabled"}, {})),
            "/var/run/cdi/management.nvidia.com-gpu.yaml");
}

// As the operator sets it.
TEST(DesiredFiles, TheKindOfDevicesWithoutOneIsWrittenIfItIsGiven) {
  const auto options =
      Parse({}, {{"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND", "management.nvidia.com/gpu"}});
  EXPECT_EQ(container_runtime::ParseRuntimeConfig(RuntimeConfigFile(*options, {}))->default_kind,
            "management.nvidia.com/gpu");
  EXPECT_THAT(RuntimeConfigFile(Options{}, {}), Not(HasSubstr("default-kind")));
}

TEST(DesiredFiles, TheRuntimeReadsWhatIsWritten) {
  const auto options = Parse({"--accept-nvidia-visible-devices-envvar-when-unprivileged",
                              "--nvidia-container-runtime.runtimes=/opt/a \"b\",crun"});
  const auto read = container_runtime::ParseRuntimeConfig(RuntimeConfigFile(*options, {}));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(read->accept_environment);
  EXPECT_THAT(read->runtimes, ElementsAre("/opt/a \"b\"", "crun"));
  EXPECT_EQ(read->default_kind, container_runtime::RuntimeConfig{}.default_kind);
  EXPECT_THAT(read->spec_dirs, ElementsAre("/etc/cdi", "/var/run/cdi"));
}

}  // namespace
}  // namespace gantry::container_toolkit
