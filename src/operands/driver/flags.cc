// SPDX-License-Identifier: Apache-2.0
// What should the driver container do? Flags, each with its variable; a flag wins.
#include "operands/driver/flags.h"

#include <sys/utsname.h>

#include <map>

#include "agent/flags.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

constexpr char kModules[] = "nvidia,nvidia-uvm,nvidia-modeset,nvidia-drm";

// As written; converted to the enumerations after parsing.
struct Words {
  std::string type = "auto";
  std::string use = "prefer";
  std::string modules = kModules;
  bool open = false;
};

const std::map<std::string, ModuleType> kTypes = {{"auto", ModuleType::kAuto},
                                                  {"open", ModuleType::kOpen},
                                                  {"proprietary", ModuleType::kProprietary}};
const std::map<std::string, Precompiled> kUses = {{"prefer", Precompiled::kPrefer},
                                                  {"true", Precompiled::kOnly},
                                                  {"only", Precompiled::kOnly},
                                                  {"false", Precompiled::kNever},
                                                  {"never", Precompiled::kNever}};

void AddWhat(agent::FlagSet& set, Flags& flags, Words& words) {
  set.Value("--driver-version", flags.version, {"DRIVER_VERSION"},
            "the driver's version: 535.247.01");
  set.Value("--kernel-release", flags.kernel_release, {"KERNEL_VERSION"},
            "the kernel's release; without it, that of the running kernel (uname -r)");
  set.Value("--kernel-module-type", words.type, {"KERNEL_MODULE_TYPE"},
            "auto (open if there are such, else proprietary), open, proprietary")
      ->check(CLI::IsMember(kTypes));
  set.Bool("--open-kernel-modules-enabled", words.open, {"OPEN_KERNEL_MODULES_ENABLED"},
           "true is --kernel-module-type open");
  set.Value("--module-names", words.modules, {"DRIVER_MODULES"},
            "kernel modules in the order of loading, with commas; those after the first are "
            "left out if the driver has none of that name")
      ->capture_default_str();
  set.Value("--use-precompiled", words.use, {"USE_PRECOMPILED"},
            "prefer: precompiled modules, and without them the sources are compiled; true: "
            "precompiled modules or an error; false: always compile")
      ->check(CLI::IsMember(kUses))
      ->capture_default_str();
}

void AddWhere(agent::FlagSet& set, Flags& flags) {
  set.Value("--sources", flags.sources, {"DRIVER_SOURCES"},
            "a folder; a driver's sources lie below it in a folder whose name has the "
            "driver's version (nvidia-535.247.01, nvidia-open-535.247.01), or are it")
      ->capture_default_str();
  set.Value("--precompiled", flags.precompiled, {"DRIVER_PRECOMPILED"},
            "a folder of precompiled modules: KERNEL_RELEASE/DRIVER_VERSION/open/NAME.ko, or "
            ".../proprietary/...; also .ko.xz")
      ->capture_default_str();
  set.Value("--packages", flags.packages, {"DRIVER_PACKAGES"},
            "a folder of .deb packages, searched for modules after --precompiled")
      ->capture_default_str();
  set.Value("--headers", flags.headers, {"KERNEL_HEADERS"},
            "the kernel's headers; without it, /lib/modules/KERNEL_RELEASE/build, then "
            "/usr/src/linux-headers-KERNEL_RELEASE");
  set.Value("--runfile", flags.runfile, {"DRIVER_RUNFILE"},
            "NVIDIA's installer: a path, or an http(s) URL; its sources are compiled and its "
            "libraries installed");
  set.Value("--cache", flags.cache, {"DRIVER_CACHE"},
            "a folder for compiled modules, one folder for each kernel, version, kind and "
            "content of the sources")
      ->capture_default_str();
  set.Value("--module-config", flags.module_config, {"DRIVER_MODULE_CONFIG"},
            "a folder of parameters: NAME.conf (nvidia.conf, nvidia-uvm.conf, ...), "
            "name=value separated by spaces or lines")
      ->capture_default_str();
  set.Value("--user-space", flags.user_space, {"DRIVER_USER_SPACE"},
            "the driver's libraries and programs, a root file system that is bound to "
            "ROOT/run/nvidia/driver; / in a container")
      ->capture_default_str();
  set.Value("--firmware", flags.firmware, {"DRIVER_FIRMWARE"},
            "a folder that is copied into USER_SPACE/lib/firmware, where the operator mounts "
            "a folder of the host over that of the image")
      ->capture_default_str();
  set.Value("--root", flags.root, {"DRIVER_ROOT"},
            "the node's root: /proc, /sys, /dev, /run/nvidia and /lib/modules are below it")
      ->capture_default_str();
  set.Value("--termination-log", flags.termination_log, {"TERMINATION_LOG"},
            "where the reason is written, in one line, if there is no driver")
      ->capture_default_str();
}

void AddHow(agent::FlagSet& set, Flags& flags) {
  set.Value("--compiler", flags.compiler, {"DRIVER_COMPILER"}, "the C compiler of make (CC)");
  set.Value("-m,--max-threads", flags.jobs, {"MAX_THREADS"}, "jobs of make; 0: one for each CPU")
      ->check(CLI::Range(0, 1024));
  set.Bool("--exit-on-failure", flags.exit_on_failure, {"EXIT_ON_FAILURE"},
           "end with 1 when the driver can't be installed; without it, wait until what is "
           "missing is there, and end with 1 when stopped before");
  set.UnusedBool("-a,--accept-license");
}

std::string RunningKernel() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "";
}

// One mistake, or the completed flags.
Status Complete(const Words& words, Flags& flags) {
  flags.module_type = words.open ? ModuleType::kOpen : kTypes.at(words.type);
  flags.precompiled_use = kUses.at(words.use);
  for (const std::string& name : Split(words.modules, ',')) {
    if (const std::string_view trimmed = Trim(name); !trimmed.empty()) {
      flags.modules.emplace_back(trimmed);
    }
  }
  if (flags.kernel_release.empty()) {
    flags.kernel_release = RunningKernel();
  }
  if (flags.word != Word::kProbePeermem) {
    if (flags.version.empty()) {
      return Fail(ErrorKind::kInvalid, "--driver-version (DRIVER_VERSION) is needed");
    }
    if (flags.modules.empty()) {
      return Fail(ErrorKind::kInvalid, "--module-names (DRIVER_MODULES) names no module");
    }
  }
  for (const auto& [name, value] :
       {std::pair("--driver-version (DRIVER_VERSION)", &flags.version),
        std::pair("--kernel-release (KERNEL_VERSION)", &flags.kernel_release)}) {
    if (value->find('/') != std::string::npos || value->starts_with('.')) {
      return Fail(ErrorKind::kInvalid, format("{}: {} can't be part of a path", name, *value));
    }
  }
  return {};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  flags.sources = "/usr/src";
  flags.precompiled = "/opt/nvidia/precompiled";
  flags.packages = "/opt/nvidia/packages";
  flags.cache = names::kDriverCacheDir;
  flags.module_config = "/drivers";
  flags.user_space = "/";
  flags.firmware = "/opt/nvidia/firmware";
  flags.root = "/";
  flags.termination_log = "/dev/termination-log";
  Words words;
  agent::FlagSet set(
      kProgram,
      "Installs NVIDIA's driver on this node: takes or compiles its kernel modules, loads them, "
      "keeps its files at /run/nvidia/driver and takes all back when it is stopped.\n"
      "Ends with 0 after a stop that left nothing; with 1 and one line that says why otherwise.");
  CLI::App& app = set.app();
  app.require_subcommand(1);
  app.fallthrough();
  AddWhat(set, flags, words);
  AddWhere(set, flags);
  AddHow(set, flags);
  app.add_subcommand("init", "install the driver, load it, and wait")->callback([&flags] {
    flags.word = Word::kInit;
  });
  app.add_subcommand("reload_nvidia_peermem",
                     "load nvidia-peermem once the driver and the InfiniBand driver are there")
      ->callback([&flags] { flags.word = Word::kReloadPeermem; });
  app.add_subcommand("probe_nvidia_peermem", "end with 0 if nvidia-peermem is loaded")
      ->callback([&flags] { flags.word = Word::kProbePeermem; });
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(Complete(words, flags));
  return flags;
}

}  // namespace gantry::driver
