// SPDX-License-Identifier: Apache-2.0
// Flags and variables of NVIDIA's installer, and the files that they lead to.
#include "operands/container_toolkit/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/testing/variables.h"
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

Result<Flags> Parse(const std::vector<std::string>& words, const Variables::Values& set = {}) {
  const Variables variables(set);
  std::vector<const char*> argv = {kProgram};
  for (const std::string& word : words) {
    argv.push_back(word.c_str());
  }
  auto parsed = ParseFlags(static_cast<int>(argv.size()), argv.data());
  return parsed ? Result<Flags>(parsed->value()) : std::unexpected(parsed.error());
}

TEST(ToolkitFlags, TheOperatorsEnvironment) {
  const auto flags = Parse({}, {{"ROOT", "/opt/nvidia"},
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
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ(ToolkitDir(*flags), "/opt/nvidia/toolkit");
  EXPECT_TRUE(flags->cdi_enabled);
  EXPECT_FALSE(flags->set_as_default);
  EXPECT_EQ(flags->runtime_mode, "cdi");
  EXPECT_EQ(flags->runtime_name, "gpu");
  EXPECT_EQ(flags->driver_install_dir, "/home/kubernetes/bin/nvidia");
  EXPECT_FALSE(flags->with_driver_container);
  EXPECT_EQ(flags->runtime_config, "/k3s/config.toml");
  EXPECT_EQ(flags->socket, "/run/k3s/containerd.sock");
  EXPECT_EQ(flags->drop_in_config, "/k3s/conf.d/x.toml");
  EXPECT_EQ(flags->host_root, "/h");
  EXPECT_THAT(flags->remarks, IsEmpty());
}

// Of these two an empty value is one; manifests set others empty and mean nothing by it.
TEST(ToolkitFlags, AnEmptyVariableSwitchesTheDocumentAndTheNodesOff) {
  const auto flags = Parse(
      {},
      {{"CDI_ENABLED", "true"}, {"CDI_OUTPUT_DIR", ""}, {"CREATE_DEVICE_NODES", ""}, {"ROOT", ""}});
  ASSERT_TRUE(flags.has_value());
  EXPECT_EQ(ManagementCdiPath(*flags), "");
  EXPECT_EQ(flags->create_device_nodes, "");
  EXPECT_EQ(flags->install_dir, Flags{}.install_dir);
}

TEST(ToolkitFlags, FlagsCountMoreThanVariables) {
  const auto flags =
      Parse({"--cdi-enabled=false", "--root", "/a", "-r", "crio", "--no-runtime-config"},
            {{"CDI_ENABLED", "true"}, {"ROOT", "/b"}});
  EXPECT_FALSE(flags->cdi_enabled);
  EXPECT_EQ(flags->install_dir, "/a");
  EXPECT_EQ(flags->runtime, "crio");
  EXPECT_TRUE(flags->no_runtime_config);
}

TEST(ToolkitFlags, AListIsWhatStandsBetweenCommasOfAllItsFlags) {
  const auto flags =
      Parse({"--opt-in-features=a", "--opt-in-features", "b, c,", "--config-source=command, file",
             "--nvidia-container-runtime.runtimes="},
            {{"NVIDIA_CONTAINER_TOOLKIT_OPT_IN_FEATURES", "of-the-variable"},
             {"NVIDIA_CONTAINER_RUNTIME_RUNTIMES", "of-the-variable"},
             {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES", "a, b"}});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_THAT(flags->opt_in_features, ElementsAre("a", "b", "c"));
  EXPECT_THAT(flags->low_level_runtimes, IsEmpty());
  EXPECT_THAT(flags->nri_management_namespaces, ElementsAre("a", "b"));
}

TEST(ToolkitFlags, HelpAndVersionAreNoMistakes) {
  for (const char* word : {"--help", "-h", "--version"}) {
    const std::array argv = {kProgram, word};
    EXPECT_FALSE(ParseFlags(2, argv.data()).value().has_value()) << word;
    EXPECT_FALSE(ParseCleanupFlags(2, argv.data()).value().has_value()) << word;
  }
}

TEST(ToolkitFlags, HostCleanupHasTheToolkitsAndWaitsUnlessAFlagSaysOtherwise) {
  const Variables variables({{"NO_DAEMON", "true"}, {"ROOT", "/r"}});
  const std::array argv = {kCleanupProgram, "--done-file=/d", "--runtime", "crio", "--no-daemon"};
  const CleanupFlags flags = ParseCleanupFlags(5, argv.data()).value().value();
  EXPECT_EQ(flags.done_file, "/d");
  EXPECT_EQ(flags.toolkit.runtime, "crio");
  EXPECT_EQ(flags.toolkit.install_dir, "/r");
  EXPECT_FALSE(flags.wait);
  EXPECT_TRUE(ParseCleanupFlags(4, argv.data()).value()->wait);
}

TEST(ToolkitFlags, WhatIsWrongIsNamed) {
  EXPECT_THAT(Parse({"--of-tomorrow"}).error().message, HasSubstr("--of-tomorrow"));
  EXPECT_THAT(Parse({"word"}).error().message, HasSubstr("word"));
  EXPECT_THAT(Parse({"root=/a"}).error().message, HasSubstr("root=/a"));
  EXPECT_THAT(Parse({"--root"}).error().message, HasSubstr("--toolkit-install-dir"));
  EXPECT_THAT(Parse({"--runtime=podman"}).error().message, HasSubstr("podman"));
  EXPECT_THAT(Parse({}, {{"CDI_ENABLED", "perhaps"}}).error().message, HasSubstr("CDI_ENABLED"));
}

TEST(ToolkitFlags, ValuesThatNvidiasInstallerRefusesToo) {
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

TEST(ToolkitFlags, TheRestOfTheInstallersEnvironment) {
  const auto flags = Parse({}, {{"TOOLKIT_PID_FILE", "/run/a/toolkit.pid"},
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
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ(flags->pid_file, "/run/a/toolkit.pid");
  EXPECT_EQ(flags->create_device_nodes, "");
  EXPECT_TRUE(flags->use_legacy_config);
  EXPECT_EQ(flags->hooks_dir, "/hooks");
  EXPECT_EQ(flags->hook_filename, "h.json");
  EXPECT_EQ(flags->cli_debug, "/var/log/cli");
  EXPECT_FALSE(flags->skip_mode_detection);
  EXPECT_THAT(flags->remarks, IsEmpty());
  const auto remarked = Parse({"--config-source=file=/x", "--runtime-config-override={\"a\": 1}",
                               "--ignore-errors", "--config-mode=hook", "--debug"});
  EXPECT_EQ(remarked->remarks.size(), 4U);
  EXPECT_TRUE(remarked->ignore_errors);
}

TEST(ToolkitFlags, NriPlugin) {
  const auto flags =
      Parse({"--enable-nri-plugin"}, {{"NRI_PLUGIN_INDEX", "7"},
                                      {"NRI_SOCKET", "/run/x.sock"},
                                      {"NRI_NAMESPACE", "gpu-operator"},
                                      {"NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES", "a,b"}});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_TRUE(flags->nri_plugin);
  EXPECT_EQ(flags->nri_index, 7);
  EXPECT_EQ(flags->nri_socket, "/run/x.sock");
  EXPECT_THAT(ManagementNamespaces(*flags), ElementsAre("a", "b", "gpu-operator"));
  EXPECT_THAT(Parse({"-p"}).error().message, HasSubstr("--nri-namespace"));
  EXPECT_THAT(Parse({"--nri-plugin-index=100"}).error().message, HasSubstr("100"));
  const auto once = Parse({"-p", "-n", "--nri-namespace=x"});
  EXPECT_FALSE(once->nri_plugin) << "a plugin has to stay";
  EXPECT_EQ(once->remarks.size(), 1U);
}

TEST(ToolkitFlags, AnImagesVariableGivesNoGpuUnlessSwitchedOn) {
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
  const TempFolder temporary;
  const std::string& root = temporary.path();
  std::ofstream(root + "/runtime") << "runtime";
  std::ofstream(root + "/ctk") << "ctk";
  const auto flags = Parse({});
  const std::string folder = ToolkitDir(*flags);
  host::Journal journal = host::Journal::Open(root, kJournalFolder).value();
  ASSERT_TRUE(journal.Apply(
      {{Kind::kFile, folder + "/gantry-runtime", "all", 0755, std::nullopt},
       {Kind::kSymlink, folder + "/nvidia-ctk", "gantry-runtime", 0, std::nullopt},
       {Kind::kSymlink, folder + "/nvidia-container-runtime", "nvidia-cdi-hook", 0, std::nullopt},
       {Kind::kFile, folder + "/nvidia-cdi-hook", "one", 0755, std::nullopt}}));
  const auto changes = DesiredFiles(*flags, {root + "/runtime", root + "/ctk", "", "/", {}});
  ASSERT_TRUE(journal.Apply(changes));
  const auto text = [&](const char* name) {
    return ReadFile(root + folder + "/" + name).value_or("");
  };
  EXPECT_EQ(text("nvidia-cdi-hook"), "runtime");
  EXPECT_EQ(text("nvidia-container-runtime"), "runtime");
  EXPECT_EQ(text("nvidia-ctk"), "ctk");
  EXPECT_THAT(journal.Apply(changes).value(), IsEmpty());
}

TEST(DesiredFiles, ConfigurationOfTheLegacyTools) {
  const auto flags = Parse({"--opt-in-features=allow-cuda-compat-libs-from-container",
                            "--nvidia-container-cli.debug=/var/log/cli"});
  const std::string text =
      RuntimeConfigFile(*flags, {"", "", "", "/run/nvidia/driver", {"/usr/libexec/crio/crun"}});
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

TEST(DesiredFiles, TheKernelsLogIsToReadAndNeedNotExist) {
  const container::CdiDevice there = KernelLogDevice(true);
  EXPECT_EQ(there.name, "kernel-log");
  ASSERT_EQ(there.edits.device_nodes.size(), 1U);
  EXPECT_EQ(there.edits.device_nodes[0].path, "/dev/kmsg");
  EXPECT_EQ(there.edits.device_nodes[0].permissions, "r");
  container::CdiSpec spec{.kind = "a.com/b", .devices = {KernelLogDevice(false)}, .edits = {}};
  EXPECT_THAT(spec.devices[0].edits.device_nodes, IsEmpty());
  EXPECT_TRUE(container::ParseCdi(container::CdiText(spec)))
      << "CDI has no devices that change nothing";
}

// As the operator sets it.
TEST(DesiredFiles, TheKindOfDevicesWithoutOneIsWrittenIfItIsGiven) {
  const auto flags =
      Parse({}, {{"NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND", "management.nvidia.com/gpu"}});
  EXPECT_EQ(container_runtime::ParseRuntimeConfig(RuntimeConfigFile(*flags, {}))->default_kind,
            "management.nvidia.com/gpu");
  EXPECT_THAT(RuntimeConfigFile(Flags{}, {}), Not(HasSubstr("default-kind")));
}

TEST(DesiredFiles, TheRuntimeReadsWhatIsWritten) {
  const auto flags = Parse({"--accept-nvidia-visible-devices-envvar-when-unprivileged",
                            "--nvidia-container-runtime.runtimes=/opt/a \"b\",crun"});
  const auto read = container_runtime::ParseRuntimeConfig(RuntimeConfigFile(*flags, {}));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(read->accept_environment);
  EXPECT_THAT(read->runtimes, ElementsAre("/opt/a \"b\"", "crun"));
  EXPECT_EQ(read->default_kind, container_runtime::RuntimeConfig{}.default_kind);
  EXPECT_THAT(read->spec_dirs, ElementsAre("/etc/cdi", "/var/run/cdi"));
}

}  // namespace
}  // namespace gantry::container_toolkit
