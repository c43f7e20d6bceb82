// SPDX-License-Identifier: Apache-2.0
// What is the driver container to do? Flags, each with its variable; a flag wins.
#include "operands/driver/options.h"

#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <map>

#include "base/command_line.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

constexpr char kModules[] = "nvidia,nvidia-uvm,nvidia-modeset,nvidia-drm";

// As they are written; the enumerations are made of them once all is read.
struct Words {
  std::string type = "auto";
  std::string use = "prefer";
  std::string modules = kModules;
  bool open = false;
  bool accept = false;
};

const std::map<std::string, ModuleType> kTypes = {{"auto", ModuleType::kAuto},
                                                  {"open", ModuleType::kOpen},
                                                  {"proprietary", ModuleType::kProprietary}};
const std::map<std::string, Precompiled> kUses = {{"prefer", Precompiled::kPrefer},
                                                  {"true", Precompiled::kOnly},
                                                  {"only", Precompiled::kOnly},
                                                  {"false", Precompiled::kNever},
                                                  {"never", Precompiled::kNever}};

void AddWhat(CLI::App& app, Options& options, Words& words) {
  app.add_option("--driver-version", options.version, "the driver's version: 535.247.01")
      ->envname("DRIVER_VERSION");
  app.add_option("--kernel-release", options.kernel_release,
                 "the kernel's release; without it, that of the running kernel (uname -r)")
      ->envname("KERNEL_VERSION");
  app.add_option("--kernel-module-type", words.type,
                 "auto (open if there are such, else proprietary), open, proprietary")
      ->envname("KERNEL_MODULE_TYPE")
      ->check(CLI::IsMember(kTypes));
  app.add_option("--open-kernel-modules-enabled", words.open, "true is --kernel-module-type open")
      ->envname("OPEN_KERNEL_MODULES_ENABLED");
  app.add_option("--module-names", words.modules,
                 "kernel modules in the order of loading, with commas; those after the first are "
                 "left out if the driver has none of that name")
      ->envname("DRIVER_MODULES")
      ->capture_default_str();
  app.add_option("--use-precompiled", words.use,
                 "prefer: precompiled modules, and without them the sources are compiled; true: "
                 "precompiled modules or an error; false: always compile")
      ->envname("USE_PRECOMPILED")
      ->check(CLI::IsMember(kUses))
      ->capture_default_str();
}

void AddWhere(CLI::App& app, Options& options) {
  app.add_option("--sources", options.sources,
                 "a folder; a driver's sources lie below it in a folder whose name has the "
                 "driver's version (nvidia-535.247.01, nvidia-open-535.247.01), or are it")
      ->envname("DRIVER_SOURCES")
      ->capture_default_str();
  app.add_option("--precompiled", options.precompiled,
                 "a folder of precompiled modules: KERNEL_RELEASE/DRIVER_VERSION/open/NAME.ko, or "
                 ".../proprietary/...; also .ko.xz")
      ->envname("DRIVER_PRECOMPILED")
      ->capture_default_str();
  app.add_option("--packages", options.packages,
                 "a folder of .deb packages, searched for modules after --precompiled")
      ->envname("DRIVER_PACKAGES")
      ->capture_default_str();
  app.add_option("--headers", options.headers,
                 "the kernel's headers; without it, /lib/modules/KERNEL_RELEASE/build, then "
                 "/usr/src/linux-headers-KERNEL_RELEASE")
      ->envname("KERNEL_HEADERS");
  app.add_option("--runfile", options.runfile,
                 "NVIDIA's installer: a path, or an http(s) URL; its sources are compiled and its "
                 "libraries installed")
      ->envname("DRIVER_RUNFILE");
  app.add_option("--cache", options.cache,
                 "a folder for compiled modules, one folder for each kernel, version, kind and "
                 "content of the sources")
      ->envname("DRIVER_CACHE")
      ->capture_default_str();
  app.add_option("--module-config", options.module_config,
                 "a folder of parameters: NAME.conf (nvidia.conf, nvidia-uvm.conf, ...), "
                 "name=value separated by spaces or lines")
      ->envname("DRIVER_MODULE_CONFIG")
      ->capture_default_str();
  app.add_option("--user-space", options.user_space,
                 "the driver's libraries and programs, a root file system that is bound to "
                 "ROOT/run/nvidia/driver; / in a container")
      ->envname("DRIVER_USER_SPACE")
      ->capture_default_str();
  app.add_option("--firmware", options.firmware,
                 "a folder that is copied into USER_SPACE/lib/firmware, where the operator mounts "
                 "a folder of the host over that of the image")
      ->envname("DRIVER_FIRMWARE")
      ->capture_default_str();
  app.add_option("--root", options.root,
                 "the node's root: /proc, /sys, /dev, /run/nvidia and /lib/modules are below it")
      ->envname("DRIVER_ROOT")
      ->capture_default_str();
  app.add_option("--termination-log", options.termination_log,
                 "where the reason is written, in one line, if there is no driver")
      ->envname("TERMINATION_LOG")
      ->capture_default_str();
}

void AddHow(CLI::App& app, Options& options, Words& words) {
  app.add_option("--compiler", options.compiler, "the C compiler of make (CC)")
      ->envname("DRIVER_COMPILER");
  app.add_option("-m,--max-threads", options.jobs, "jobs of make; 0: one for each CPU")
      ->envname("MAX_THREADS")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--exit-on-failure", options.exit_on_failure,
               "end with 1 when the driver can't be installed; without it, wait until what is "
               "missing is there, and end with 1 when stopped before")
      ->envname("EXIT_ON_FAILURE");
  app.add_flag("-a,--accept-license", words.accept, "accepted, not used");
}

std::string RunningKernel() {
  utsname name{};
  return uname(&name) == 0 ? name.release : "";
}

// One mistake, or the options made whole.
Status Complete(const Words& words, Options& options) {
  options.module_type = words.open ? ModuleType::kOpen : kTypes.at(words.type);
  options.precompiled_use = kUses.at(words.use);
  for (const std::string& name : Split(words.modules, ',')) {
    if (const std::string_view trimmed = Trim(name); !trimmed.empty()) {
      options.modules.emplace_back(trimmed);
    }
  }
  if (options.kernel_release.empty()) {
    options.kernel_release = RunningKernel();
  }
  if (options.word != Word::kProbePeermem) {
    if (options.version.empty()) {
      return Fail(ErrorKind::kInvalid, "--driver-version (DRIVER_VERSION) is needed");
    }
    if (options.modules.empty()) {
      return Fail(ErrorKind::kInvalid, "--module-names (DRIVER_MODULES) names no module");
    }
  }
  for (const auto& [name, value] :
       {std::pair("--driver-version (DRIVER_VERSION)", &options.version),
        std::pair("--kernel-release (KERNEL_VERSION)", &options.kernel_release)}) {
    if (value->find('/') != std::string::npos || value->starts_with('.')) {
      return Fail(ErrorKind::kInvalid, format("{}: {} can't be part of a path", name, *value));
    }
  }
  return {};
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  options.sources = "/usr/src";
  options.precompiled = "/opt/nvidia/precompiled";
  options.packages = "/opt/nvidia/packages";
  options.cache = names::kDriverCacheDir;
  options.module_config = "/drivers";
  options.user_space = "/";
  options.firmware = "/opt/nvidia/firmware";
  options.root = "/";
  options.termination_log = "/dev/termination-log";
  Words words;
  CLI::App app(
      "Installs NVIDIA's driver on this node: takes or compiles its kernel modules, loads them, "
      "keeps its files at /run/nvidia/driver and takes all back when it is stopped.\n"
      "Ends with 0 after a stop that left nothing; with 1 and one line that says why otherwise.",
      "nvidia-driver");
  app.set_version_flag("--version", GANTRY_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  AddWhat(app, options, words);
  AddWhere(app, options);
  AddHow(app, options, words);
  app.add_subcommand("init", "install the driver, load it, and wait")->callback([&options] {
    options.word = Word::kInit;
  });
  app.add_subcommand("reload_nvidia_peermem",
                     "load nvidia-peermem once the driver and the InfiniBand driver are there")
      ->callback([&options] { options.word = Word::kReloadPeermem; });
  app.add_subcommand("probe_nvidia_peermem", "end with 0 if nvidia-peermem is loaded")
      ->callback([&options] { options.word = Word::kProbePeermem; });
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  if (const Status complete = Complete(words, options); !complete) {
    std::fprintf(stderr, "nvidia-driver: %s\n", complete.error().message.c_str());
    return 1;
  }
  return options;
}

}  // namespace gantry::driver
