// SPDX-License-Identifier: Apache-2.0
// nvidia-ctk cdi: what it lists, changes and generates.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>

#include "container/cdi.h"
#include "container/cdi_rules.h"
#include "operands/container_runtime/cdi_documents.h"
#include "operands/container_runtime/testing/cli_fixture.h"
#include "operands/container_runtime/toolkit_cli.h"

namespace gantry::container_runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

}  // namespace
}  // namespace gantry::container_runtime
