// SPDX-License-Identifier: Apache-2.0
// Which sources of a driver exist, and is one loaded? Folders are searched each time, so that a
// package or headers added later are found.
#include "operands/driver/gather.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "host/processes.h"
#include "operands/driver/modules.h"
#include "policy/names.h"

namespace gantry::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPackageLimit(60);
// A container in the host's PID namespace reaches the host's files by this path.
constexpr char kFirstProcessRoot[] = "/proc/1/root";

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::vector<std::string> Entries(const std::string& folder) {
  return ListDirectory(folder).value_or(std::vector<std::string>());
}

void AddFolders(const Flags& flags, std::vector<ModulePackage>& packages) {
  for (const std::string& kernel : Entries(flags.precompiled)) {
    const std::string of_kernel = JoinPath(flags.precompiled, kernel);
    for (const std::string& version : Entries(of_kernel)) {
      for (const bool open : {true, false}) {
        const std::string path = JoinPath(JoinPath(of_kernel, version), KindName(open));
        if (!ModuleFiles(path).empty()) {
          packages.push_back({path, kernel, version, open});
        }
      }
    }
  }
}

// The output of a program that succeeded; empty otherwise.
std::string OutputOf(std::vector<std::string> words) {
  const auto program = host::FindInPath(words.front());
  if (!program) {
    return "";
  }
  words.front() = *program;
  const auto finished = host::RunProgram({.words = words, .root = "", .limit = kPackageLimit});
  return finished && finished->exit_status == 0 ? finished->output : "";
}

void AddDebs(const Flags& flags, std::vector<ModulePackage>& packages) {
  for (const std::string& file : Entries(flags.packages)) {
    if (!file.ends_with(".deb")) {
      continue;
    }
    const std::string path = JoinPath(flags.packages, file);
    const std::string name = OutputOf({"dpkg-deb", "-f", path, "Package"});
    const std::string version = OutputOf({"dpkg-deb", "-f", path, "Version"});
    ModulePackage package = ParsePackage(name, version, OutputOf({"dpkg-deb", "-c", path}));
    if (package.kernel_release.empty()) {
      log::Debug("{} has no kernel module", path);
      continue;
    }
    package.path = path;
    packages.push_back(std::move(package));
  }
}

// A tree unpacked by NVIDIA's installer has a folder for each kind; any other is one tree.
void AddTree(const std::string& path, const NamedTree& named, std::vector<SourceTree>& trees) {
  if (IsThere(JoinPath(path, "Makefile"))) {
    const bool open = named.open || IsThere(JoinPath(path, "kernel-open"));
    trees.push_back({path, named.version, open});
    return;
  }
  for (const auto& [folder, open] : {std::pair("kernel-open", true), std::pair("kernel", false)}) {
    const std::string below = JoinPath(path, folder);
    if (IsThere(JoinPath(below, "Makefile"))) {
      trees.push_back({below, named.version, open});
    }
  }
}

std::vector<SourceTree> FindTrees(const Flags& flags) {
  std::vector<SourceTree> trees;
  if (IsThere(JoinPath(flags.sources, "Makefile"))) {
    NamedTree named = ParseTreeName(BaseName(flags.sources));
    if (named.version.empty()) {
      named.version = flags.version;  // the user gave it for this driver
      named.open = flags.module_type == ModuleType::kOpen;
    }
    AddTree(flags.sources, named, trees);
    return trees;
  }
  for (const std::string& folder : Entries(flags.sources)) {
    if (const NamedTree named = ParseTreeName(folder); !named.version.empty()) {
      AddTree(JoinPath(flags.sources, folder), named, trees);
    }
  }
  return trees;
}

std::string InRoot(const std::string& root, const std::string& path) {
  return ResolveInRoot(root, path).value_or(JoinPath(root, path));
}

// `build` with its links resolved inside `root`, where absolute names in the headers begin:
// resolved normally, the link /proc/1/root would lead to this process' own root.
KernelHeaders HeadersAt(const std::string& build, const std::string& root) {
  const auto makefile = ReadFile(JoinPath(build, "Makefile"));
  if (!makefile) {
    return {};
  }
  const std::string common = CommonHeaders(*makefile);
  if (!common.empty()) {
    for (const std::string& candidate :
         {JoinPath(ParentOf(build), BaseName(common)), InRoot(root, common)}) {
      if (IsThere(JoinPath(candidate, "Makefile"))) {
        return {candidate, build};
      }
    }
  }
  return {build, build};
}

void FindHeaders(const Flags& flags, InstallFacts& facts) {
  std::vector<std::pair<std::string, std::string>> places;  // a folder, and its root
  if (!flags.headers.empty()) {
    places.emplace_back(InRoot("/", flags.headers), flags.root);
  } else {
    for (const std::string& root : {flags.root, std::string(kFirstProcessRoot)}) {
      for (const std::string& path : {format("/lib/modules/{}/build", flags.kernel_release),
                                      format("/usr/src/linux-headers-{}", flags.kernel_release)}) {
        if (root == flags.root || flags.root == "/") {
          places.emplace_back(InRoot(root, path), root);
        }
      }
    }
  }
  for (const auto& [place, root] : places) {
    facts.headers_looked_for.push_back(place);
    if (facts.headers.build.empty()) {
      facts.headers = HeadersAt(place, root);
    }
  }
}

}  // namespace

InstallFacts GatherFacts(const Flags& flags, const std::string& digest) {
  InstallFacts facts;
  AddFolders(flags, facts.packages);
  AddDebs(flags, facts.packages);
  facts.sources = FindTrees(flags);
  FindHeaders(flags, facts);
  facts.runfile = flags.runfile;
  const std::string loaded =
      JoinPath(JoinPath(flags.root, "sys/module"), KernelName(flags.modules.front()));
  facts.loaded = IsThere(loaded);
  facts.loaded_version = Trim(ReadFile(JoinPath(loaded, "version")).value_or(""));
  facts.same_digest = !digest.empty() && Trim(ReadFile(StateFile(flags)).value_or("")) == digest;
  return facts;
}

std::string KernelModulesFolder(const Flags& flags) {
  const std::string path = format("/lib/modules/{}", flags.kernel_release);
  const std::string here = JoinPath(flags.root, path);
  const std::string of_host = JoinPath(kFirstProcessRoot, path);
  // An image with headers has such a folder too, with links to them and no module.
  const bool has_modules = IsThere(JoinPath(here, "modules.dep"));
  return !has_modules && flags.root == "/" && IsThere(of_host) ? of_host : here;
}

std::map<std::string, std::string> ModuleFiles(const std::string& folder) {
  std::map<std::string, std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; at != end; at.increment(failed)) {
    if (failed) {
      break;
    }
    if (const std::string module = ModuleOfFile(at->path().filename().string());
        !module.empty() && at->is_regular_file(failed)) {
      files.emplace(module, at->path().string());
    }
  }
  return files;
}

Result<std::map<std::string, std::string>> GivenParameters(const Flags& flags) {
  constexpr std::string_view kEnding = ".conf";
  std::map<std::string, std::string> given;
  for (const std::string& file : Entries(flags.module_config)) {
    if (!file.ends_with(kEnding)) {
      continue;
    }
    TRY_ASSIGN(const std::string text, ReadFile(JoinPath(flags.module_config, file)));
    const std::string module = file.substr(0, file.size() - kEnding.size());
    // The folder has other driver files too (gridd.conf).
    const bool ours = std::ranges::any_of(flags.modules, [&](const std::string& name) {
      return KernelName(name) == KernelName(module);
    });
    if (ours) {
      TRY_ASSIGN(given[KernelName(module)], ModuleParameters(file, text));
    }
  }
  return given;
}

std::string StateFile(const Flags& flags) { return JoinPath(flags.root, names::kDriverState); }

std::string PidFile(const Flags& flags) {
  return JoinPath(flags.root, "run/nvidia/nvidia-driver.pid");
}

std::string DriverPlace(const Flags& flags) {
  return JoinPath(flags.root, names::kDriverInstallDir);
}

}  // namespace gantry::driver
