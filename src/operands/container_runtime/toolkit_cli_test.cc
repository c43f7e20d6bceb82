// SPDX-License-Identifier: Apache-2.0
// nvidia-ctk: its commands, their flags, and what they write.
#include "operands/container_runtime/toolkit_cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/paths.h"
#include "container/cdi.h"
#include "container/cdi_rules.h"
#include "operands/container_runtime/application_profile.h"
#include "operands/container_runtime/cdi_documents.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/device_numbers.h"
#include "operands/container_runtime/runtime_config.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/ctk.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_ + path).parent_path());
    std::ofstream(folder_ + path) << text;
  }
  bool MakeNode(const std::string& path, dev_t number) {
    fs::create_directories(fs::path(folder_ + path).parent_path());
    return ::mknod((folder_ + path).c_str(), S_IFCHR | 0666, number) == 0;
  }
  std::string Get(const std::string& path) { return ReadFile(folder_ + path).value_or("(absent)"); }
  CliCall Call(const std::vector<std::string>& words) {
    return {words,
            [this](const std::string& name) {
              const auto found = environment_.find(name);
              return found == environment_.end() ? std::nullopt
                                                 : std::optional<std::string>(found->second);
            },
            true};
  }
  std::string Run(Status (*command)(const CliCall&), const std::vector<std::string>& words) {
    const Status done = command(Call(words));
    return done ? "" : done.error().message;
  }

  std::string folder_;
  std::map<std::string, std::string> environment_;
};

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
  EXPECT_FALSE(FindHookProgram().ours) << "somebody else's";
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

constexpr char kDocument[] = R"({"cdiVersion": "0.5.0", "kind": "a.com/gpu", "devices": [
  {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/a", "hostPath": "/root/dev/a"}]}}],
  "containerEdits": {"mounts": [{"hostPath": "/root/lib/x", "containerPath": "/lib/x", "options": []},
                                {"hostPath": "/rootless/x", "containerPath": "/x", "options": []}],
  "hooks": [{"hookName": "createContainer", "path": "/root/h", "args": ["h"]}]}})";

TEST_F(CliTest, TransformRootOnTheHost) {
  Put("/in.json", kDocument);
  EXPECT_EQ(Run(CdiTransformRoot, {"--from=/root/", "--to=/driver", "--input", folder_ + "/in.json",
                                   "--output", folder_ + "/out.json"}),
            "");
  const auto spec = container::ParseCdi(Get("/out.json"));
  ASSERT_TRUE(spec.has_value()) << Get("/out.json");
  EXPECT_EQ(spec->devices[0].edits.device_nodes[0].host_path, "/driver/dev/a");
  EXPECT_EQ(spec->edits.mounts[0].host_path, "/driver/lib/x");
  EXPECT_EQ(spec->edits.mounts[1].host_path, "/rootless/x") << "a folder, not a beginning";
  EXPECT_EQ(spec->edits.hooks[0].path, "/driver/h");
  EXPECT_EQ(Run(CdiTransformRoot, {"--from=/root", "--to=/driver", "--input", folder_ + "/in.json",
                                   "--output", folder_ + "/out"}),
            "");
  EXPECT_THAT(Get("/out.yaml"), HasSubstr("/driver/h"));
}

TEST_F(CliTest, TransformRootInTheContainer) {
  container::CdiSpec spec = container::ParseCdi(kDocument).value();
  TransformRoot("/", "/usr", true, spec);
  EXPECT_EQ(spec.edits.mounts[0].container_path, "/usr/lib/x");
  EXPECT_EQ(spec.edits.mounts[0].host_path, "/root/lib/x");
  EXPECT_EQ(spec.devices[0].edits.device_nodes[0].path, "/usr/dev/a");
  EXPECT_THAT(Run(CdiTransformRoot, {"--relative-to", "moon"}), HasSubstr("moon"));
}

TEST_F(CliTest, TransformRootInHooks) {
  container::CdiSpec spec{"a.com/gpu", {}, {}};
  const std::vector<std::string> args = {
      "h", "--link", "/r/a::/r/b", "--library", "x.so.1=/r/x.so", "--folder=/r", "/rs", "../r/c"};
  for (const char* name : {"createContainer", "startContainer", "createRuntime"}) {
    spec.edits.hooks.push_back({name, "/r/h", args, {}});
  }
  const std::vector<std::string> moved = {
      "h", "--link", "/n/a::/n/b", "--library", "x.so.1=/n/x.so", "--folder=/n", "/rs", "../r/c"};
  container::CdiSpec host = spec;
  TransformRoot("/r", "/n/", false, host);
  EXPECT_THAT(host.edits.hooks,
              ElementsAre(container::CdiHook{"createContainer", "/n/h", args, {}},
                          container::CdiHook{"startContainer", "/r/h", args, {}},
                          container::CdiHook{"createRuntime", "/n/h", moved, {}}));
  TransformRoot("/r/", "/n", true, spec);
  EXPECT_THAT(spec.edits.hooks,
              ElementsAre(container::CdiHook{"createContainer", "/r/h", moved, {}},
                          container::CdiHook{"startContainer", "/n/h", moved, {}},
                          container::CdiHook{"createRuntime", "/r/h", args, {}}));
  spec.edits.mounts = {{"/r", "/x", {}}};
  TransformRoot("/r", "/", false, spec);
  EXPECT_EQ(spec.edits.mounts[0].host_path, "/");
}

TEST_F(CliTest, ListNamesDevicesOfEveryKind) {
  Put("/cdi/a.json", kDocument);
  Put("/cdi/b.yaml",
      "cdiVersion: 0.5.0\nkind: b.com/gpu\ndevices:\n- {name: all, containerEdits: {env: "
      "[A=1]}}\n");
  Put("/cdi/broken.json", "{");
  testing::internal::CaptureStdout();
  environment_["NVIDIA_CTK_CDI_SPEC_DIRS"] = folder_ + "/cdi";
  EXPECT_EQ(Run(CdiList, {}), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a.com/gpu=0\nb.com/gpu=all\n");
}

TEST_F(CliTest, QuietCanBeSwitchedOff) {
  Put("/cdi/a.json", kDocument);
  const auto said = [&](const std::string& flag) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    RunToolkitCli("nvidia-ctk", {flag, "cdi", "list", "--spec-dir", folder_ + "/cdi"});
    testing::internal::GetCapturedStdout();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("--quiet"), "");
  EXPECT_THAT(said("--quiet=false"), HasSubstr("found 1 CDI devices"));
  EXPECT_THAT(said("--quiet=maybe"), HasSubstr("usage"));
}

TEST_F(CliTest, GenerateFromADriverRoot) {
  Put("/usr/lib64/libcuda.so.535.1", "elf");
  Put("/dev/nvidiactl", "");
  const std::vector<std::string> words = {"--driver-root",
                                          folder_,
                                          "--nvidia-cdi-hook-path",
                                          "/h",
                                          "--output",
                                          folder_ + "/out/nvidia.yaml"};
  EXPECT_EQ(Run(CdiGenerate, words), "");
  EXPECT_THAT(Get("/out/nvidia.yaml"),
              AllOf(testing::StartsWith("---\ncdiVersion: \"0.5.0\"\n"),
                    HasSubstr("kind: nvidia.com/gpu\n"),
                    HasSubstr("hostPath: " + folder_ + "/usr/lib64/libcuda.so.535.1\n")));
  std::vector<std::string> json = words;
  json.back() = folder_ + "/out/nvidia.json";
  json.insert(json.end(), {"--cdi-vendor=x.com", "--cdi-class", "y", "--disable-hooks=all"});
  EXPECT_EQ(Run(CdiGenerate, json), "");
  const auto spec = container::ParseCdi(Get("/out/nvidia.json"));
  EXPECT_EQ(spec->kind, "x.com/y");
  EXPECT_THAT(spec->edits.hooks, IsEmpty());
  const auto written_as = [&](const std::string& output, const std::string& form) {
    std::vector<std::string> other = words;
    other.back() = folder_ + output;
    other.insert(other.end(), {"--mode=NVML", "--format", form});
    return Run(CdiGenerate, other);
  };
  EXPECT_EQ(written_as("/out/a", "JSON"), "");
  EXPECT_THAT(Get("/out/a.json"), testing::StartsWith("{"));
  EXPECT_EQ(written_as("/out/b.yml", ""), "");
  EXPECT_THAT(Get("/out/b.yaml"), testing::StartsWith("---"));
  EXPECT_THAT(Run(CdiGenerate, {"--driver-root", folder_ + "/nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(Run(CdiGenerate, {"--magic"}), HasSubstr("--magic"));
  EXPECT_THAT(Run(CdiGenerate, {"--mode", "magic"}), HasSubstr("magic"));
  EXPECT_THAT(Run(CdiGenerate, {"--driver-root", folder_, "--format", "xml"}), HasSubstr("xml"));
  environment_["NVIDIA_CTK_CDI_GENERATE_DEVICE_NAME_STRATEGIES"] = "by-colour";
  EXPECT_THAT(Run(CdiGenerate, words), HasSubstr("by-colour"));
}

TEST_F(CliTest, GenerateTakesAnEmptyValueForNone) {
  Put("/usr/lib64/libcuda.so.535.1", "elf");
  if (!MakeNode("/dev/nvidia0", gnu_dev_makedev(1, 3))) {
    GTEST_SKIP() << "device nodes cannot be made here";
  }
  EXPECT_EQ(Run(CdiGenerate, {"--driver-root", folder_, "--output", folder_ + "/nvidia.json",
                              "--nvidia-cdi-hook-path=", "--dev-root=", "--device-id=",
                              "--device-name-strategy=", "--vendor=", "--mode="}),
            "");
  const auto spec = container::ParseCdi(Get("/nvidia.json"));
  ASSERT_TRUE(spec.has_value()) << Get("/nvidia.json");
  EXPECT_EQ(spec->kind, "nvidia.com/gpu");
  EXPECT_EQ(spec->edits.hooks.at(0).path, "/usr/bin/nvidia-cdi-hook");
  ASSERT_EQ(spec->devices.size(), 2U);
  EXPECT_EQ(spec->devices[0].name, "0");
  EXPECT_EQ(spec->devices[0].edits.device_nodes.at(0).host_path, folder_ + "/dev/nvidia0");
}

TEST_F(CliTest, VendorAndClassReplaceTheModesOwn) {
  Put("/usr/lib64/libcuda.so.535.1", "elf");
  Put("/dev/gdrdrv", "");
  const auto kind = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--driver-root", folder_, "--output", folder_ + "/out.json"});
    const std::string error = Run(CdiGenerate, words);
    return error.empty() ? container::ParseCdi(Get("/out.json"))->kind : error;
  };
  EXPECT_EQ(kind({"--mode=gdrcopy"}), "nvidia.com/gdrcopy");
  EXPECT_EQ(kind({"--mode=gdrcopy", "--vendor=nvidia.com"}), "nvidia.com/gdrcopy");
  EXPECT_EQ(kind({"--mode=gdrcopy", "--class=x"}), "nvidia.com/x");
  EXPECT_THAT(kind({"--vendor=a/b", "--class=x y"}), HasSubstr("a/b/x y"));
  if (!MakeNode("/dev/nvidia0", gnu_dev_makedev(1, 3))) {
    GTEST_SKIP() << "device nodes cannot be made here";
  }
  EXPECT_EQ(kind({"--mode=management"}), "management.nvidia.com/gpu");
  EXPECT_EQ(kind({"--mode=management", "--class=x"}), "management.nvidia.com/x");
  EXPECT_EQ(kind({"--mode=management", "--vendor=x.com"}), "x.com/gpu");
}

TEST_F(CliTest, GenerateFromListsBelowTheRoots) {
  Put("/root/usr/lib/a.so.1", "");
  fs::create_symlink("a.so.1", folder_ + "/root/usr/lib/a.so");
  Put("/dev_root/dev/nvmap", "");
  Put("/l4t.csv", "lib, /usr/lib/a.so.1\nsym, /usr/lib/a.so\ndev, /dev/nvmap\n");
  CliCall call =
      Call({"--mode=csv", "--driver-root", folder_ + "/root", "--dev-root", folder_ + "/dev_root",
            "--csv.file", folder_ + "/gone.csv," + folder_ + "/l4t.csv",
            "--nvidia-cdi-hook-path=/h", "--output", folder_ + "/out.json"});
  call.quiet = false;
  testing::internal::CaptureStderr();
  const Status done = CdiGenerate(call);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr(folder_ + "/gone.csv is not there"));
  ASSERT_TRUE(done.has_value()) << done.error().message;
  const auto spec = container::ParseCdi(Get("/out.json"));
  EXPECT_EQ(spec->edits.mounts.at(0).host_path, folder_ + "/root/usr/lib/a.so.1");
  EXPECT_EQ(spec->edits.mounts.at(0).container_path, "/usr/lib/a.so.1");
  EXPECT_EQ(spec->edits.device_nodes.at(0).host_path, folder_ + "/dev_root/dev/nvmap");
  EXPECT_THAT(spec->edits.hooks.at(0).args, testing::Contains("a.so.1::/usr/lib/a.so"));
  EXPECT_THAT(Run(CdiGenerate, {"--mode=csv", "--csv.file", folder_ + "/gone.csv"}),
              HasSubstr("gone.csv"));
}

TEST_F(CliTest, ListsHaveNamesAndHooksAsTheyAreAskedFor) {
  Put("/usr/lib/a.so.1", "");
  fs::create_symlink("a.so.1", folder_ + "/usr/lib/a.so");
  Put("/l4t.csv", "lib, /usr/lib/a.so.1\nsym, /usr/lib/a.so\n");
  const auto spec = [&](std::vector<std::string> words) {
    words.insert(words.end(),
                 {"--mode=csv", "--driver-root", folder_, "--csv.file", folder_ + "/l4t.csv",
                  "--nvidia-cdi-hook-path=/h", "--output", folder_ + "/out.json"});
    EXPECT_EQ(Run(CdiGenerate, words), "");
    return container::ParseCdi(Get("/out.json")).value();
  };
  const auto names = [&](const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const container::CdiDevice& device : spec(words).devices) {
      found.push_back(device.name);
    }
    return found;
  };
  EXPECT_THAT(names({}), ElementsAre("0", "all"));
  EXPECT_THAT(names({"--device-name-strategy=type-index,uuid", "--no-all-device"}),
              ElementsAre("gpu0"));
  EXPECT_THAT(Run(CdiGenerate, {"--mode=csv", "--csv.file", folder_ + "/l4t.csv",
                                "--device-name-strategy=uuid", "--no-all-device"}),
              HasSubstr("uuid"));
  const auto args = [&](const std::vector<std::string>& words) {
    const container::CdiSpec made = spec(words);
    return made.edits.hooks.empty() ? std::vector<std::string>{} : made.edits.hooks[0].args;
  };
  EXPECT_THAT(args({"--disable-hook=update-ldcache"}),
              ElementsAre("h", "create-symlinks", "--link", "a.so.1::/usr/lib/a.so"));
  EXPECT_THAT(args({"--disable-hook=all", "--enable-hook=update-ldcache"}),
              ElementsAre("h", "update-ldcache", "--folder", "/usr/lib"));
  EXPECT_THAT(args({"--disable-hook=all"}), IsEmpty());
}

TEST_F(CliTest, TheDocumentOfWslHasNoHookThatIsSwitchedOff) {
  Put("/dev/dxg", "");
  Put("/usr/lib/wsl/lib/libdxcore.so", "elf");
  Put("/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1", "elf");
  const auto hooks = [&](const std::string& disabled) {
    EXPECT_EQ(Run(CdiGenerate, {"--mode=wsl", "--driver-root", folder_, "--nvidia-cdi-hook-path=/h",
                                "--output", folder_ + "/out.json", "--disable-hook=" + disabled}),
              "");
    return container::ParseCdi(Get("/out.json"))->devices.at(0).edits.hooks;
  };
  EXPECT_THAT(
      hooks("create-symlinks").at(0).args,
      ElementsAre("h", "update-ldcache", "--folder", "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1",
                  "--folder", "/usr/lib/wsl/lib"));
  EXPECT_THAT(hooks("all"), IsEmpty());
}

container::NodeInventory TwoGpus() {
  container::NodeInventory inventory;
  inventory.files.version = "535.1";
  inventory.files.sockets = {{"/run/nvidia-persistenced/socket", "/s"}};
  inventory.files.all_nodes = {"/dev/nvidia0"};
  inventory.gpus = {{"GPU-1", 0, 0, "0000:01:00.0", {}}, {"GPU-2", 1, 1, "0000:02:00.0", {}}};
  inventory.gpus[1].mig_enabled = true;
  inventory.gpus[1].mig = {{"MIG-a", 0, {}}, {"MIG-b", 1, {}}};
  return inventory;
}

std::vector<std::string> NamesFor(GenerateRequest request) {
  const auto spec = WorkloadDocument(request, TwoGpus());
  if (!spec) {
    return {spec.error().message};
  }
  std::vector<std::string> names;
  for (const container::CdiDevice& device : spec->devices) {
    names.push_back(device.name);
  }
  return names;
}

TEST(Generate, NamesAndDevices) {
  GenerateRequest request;
  request.names = {"index", "uuid"};
  EXPECT_THAT(NamesFor(request), ElementsAre("0", "1:0", "1:1", "GPU-1", "MIG-a", "MIG-b", "all"));
  request.names = {"type-index"};
  request.all_device = false;
  EXPECT_THAT(NamesFor(request), ElementsAre("gpu0", "mig1:0", "mig1:1"));
  request.devices = {"GPU-1", "1:1"};
  EXPECT_THAT(NamesFor(request), ElementsAre("gpu0", "mig1:1"));
  request.devices = {"1"};
  EXPECT_THAT(NamesFor(request), ElementsAre("gpu1")) << "in MIG mode, and still that GPU";
  request.devices = {"GPU-2", "MIG-a"};
  EXPECT_THAT(NamesFor(request), ElementsAre("gpu1", "mig1:0"));
  request.devices = {"none"};
  EXPECT_THAT(NamesFor(request), ElementsAre("none"));
  request.devices = {"9"};
  EXPECT_THAT(NamesFor(request), ElementsAre(HasSubstr("find device 9")));
}

TEST(Generate, FeatureFlags) {
  GenerateRequest request;
  request.names = {"index"};
  EXPECT_EQ(WorkloadDocument(request, TwoGpus())->edits.mounts.size(), 1U);
  request.features = {"disable-ipc-discoverer"};
  EXPECT_EQ(WorkloadDocument(request, TwoGpus())->edits.mounts.size(), 0U);
  request.features = {"of-tomorrow"};
  EXPECT_EQ(WorkloadDocument(request, TwoGpus())->edits.mounts.size(), 1U);
}

TEST_F(CliTest, EveryModeOfDevicesBesideGpusIsAsNvidias) {
  Put("/dev/nvidia-caps-imex-channels/channel0", "");
  Put("/dev/nvidia-caps-imex-channels/channel7", "");
  Put("/dev/nvidia-nvswitchctl", "");
  Put("/dev/nvidia-fs0", "");
  const auto spec = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--driver-root", folder_, "--feature-flag=of-tomorrow", "--output",
                               folder_ + "/out.json"});
    EXPECT_EQ(Run(CdiGenerate, words), "") << "an unknown feature is a warning";
    const auto made = container::ParseCdi(Get("/out.json"));
    EXPECT_TRUE(container::CheckCdi(*made).has_value());
    return *made;
  };
  const auto names = [&](const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const container::CdiDevice& device : spec(words).devices) {
      found.push_back(device.name);
    }
    return found;
  };
  EXPECT_THAT(names({"--mode=imex"}), ElementsAre("0", "7", "all"));
  EXPECT_EQ(spec({"--mode=imex"}).devices.at(2).edits.device_nodes.size(), 2U);
  EXPECT_THAT(names({"--mode=imex", "--no-all-device"}), ElementsAre("0", "7"));
  EXPECT_THAT(names({"--mode=nvswitch"}), ElementsAre("all"));
  EXPECT_THAT(names({"--mode=nvswitch", "--no-all-device"}), ElementsAre("all"));
  for (const char* mode : {"--mode=nvswitch", "--mode=imex", "--mode=gds"}) {
    EXPECT_THAT(spec({mode}).edits.env, ElementsAre("NVIDIA_VISIBLE_DEVICES=void")) << mode;
  }
}

TEST_F(CliTest, TwoFilesOfOneFolderWithOneDeviceAreListedByTheirNames) {
  for (const char* name : {"a", "b"}) {
    Put(std::string("/cdi/") + name + ".yaml",
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n  containerEdits: {env: "
        "[A=1]}\n");
  }
  Put("/cdi/c.yaml",
      "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"1\"\n  containerEdits: {env: "
      "[A=1]}\n");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CliCall call = Call({"--spec-dir", folder_ + "/cdi"});
  call.quiet = false;
  EXPECT_TRUE(CdiList(call).has_value());
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "nvidia.com/gpu=1\n");
  EXPECT_THAT(told,
              testing::AllOf(HasSubstr("nvidia.com/gpu=0"), HasSubstr(folder_ + "/cdi/a.yaml"),
                             HasSubstr(folder_ + "/cdi/b.yaml"), HasSubstr("found 1 CDI devices")));
}

TEST(Generate, CoherentGpusByAnnotationAndByClass) {
  container::NodeInventory inventory = TwoGpus();
  inventory.gpus[0].coherent = true;
  inventory.gpus[1].coherent = true;  // divided: its MIG devices are not annotated
  inventory.gpus.push_back({"GPU-3", 2, 2, "0000:03:00.0", {}});
  inventory.gpus[2].coherent = false;
  inventory.gpus.push_back({"GPU-4", 3, 3, "0000:04:00.0", {}});  // does not say
  GenerateRequest request;
  request.names = {"index"};
  const auto plain = WorkloadDocument(request, inventory);
  EXPECT_THAT(container::PartsByCoherence(*plain, true), IsEmpty());
  request.features = {"enable-coherent-annotations"};
  const auto spec = WorkloadDocument(request, inventory);
  std::map<std::string, std::map<std::string, std::string>> annotations;
  for (const container::CdiDevice& device : spec->devices) {
    annotations[device.name] = device.annotations;
  }
  const std::string key = "gpu.nvidia.com/coherent";
  EXPECT_THAT(annotations,
              ElementsAre(testing::Pair("0", ElementsAre(testing::Pair(key, "true"))),
                          testing::Pair("1:0", IsEmpty()), testing::Pair("1:1", IsEmpty()),
                          testing::Pair("2", ElementsAre(testing::Pair(key, "false"))),
                          testing::Pair("3", IsEmpty()), testing::Pair("all", IsEmpty())));
  const auto parts = container::PartsByCoherence(*spec, true);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].infix, ".coherent");
  EXPECT_EQ(parts[0].spec.kind, "nvidia.com/gpu.coherent");
  ASSERT_EQ(parts[0].spec.devices.size(), 2U);
  EXPECT_EQ(parts[0].spec.devices[0].name, "0");
  EXPECT_THAT(parts[0].spec.devices[0].annotations, IsEmpty());
  EXPECT_EQ(parts[0].spec.devices[1].name, "all");
  EXPECT_EQ(parts[1].spec.kind, "nvidia.com/gpu.noncoherent");
  EXPECT_EQ(container::PartsByCoherence(*spec, false)[1].spec.devices.size(), 1U);
  EXPECT_THAT(container::CdiText(parts[1].spec), HasSubstr("\"cdiVersion\": \"0.6.0\""));
}

TEST_F(CliTest, GenerateWritesADocumentForEachCoherence) {
  // No NVML and no inventory here: nothing is known of coherence, so there is one document.
  Put("/usr/lib64/libcuda.so.535.1", "elf");
  Put("/dev/nvidia0", "");
  EXPECT_EQ(Run(CdiGenerate, {"--driver-root", folder_, "--output", folder_ + "/out/nvidia.yaml",
                              "--feature-flag", "enable-coherent-annotations"}),
            "");
  EXPECT_NE(Get("/out/nvidia.yaml"), "(absent)");
  EXPECT_EQ(Get("/out/nvidia.noncoherent.yaml"), "(absent)");
}

TEST(Generate, Management) {
  EXPECT_EQ(ManagementDocument({}, TwoGpus())->devices.at(0).name, "all");
  container::NodeInventory empty = TwoGpus();
  empty.files.all_nodes.clear();
  EXPECT_EQ(ManagementDocument({}, empty).error().kind, ErrorKind::kNotFound);
}

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

// Before 2.1 a later file's table of the CRI plugin takes the place of ours.
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
