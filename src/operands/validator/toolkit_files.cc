// SPDX-License-Identifier: Apache-2.0
// Which files of the container toolkit does this node have? Its program and the management CDI
// document. Every path in it must exist on the host: a document of an earlier driver names missing
// files, and every container that gets it fails to start.
#include "operands/validator/toolkit_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

// Under the host's root as mounted here, links resolved.
std::string Here(const std::string& root, const std::string& host_path) {
  return ResolveInRoot(root, host_path).value_or(JoinPath(root, host_path));
}

// As NVIDIA's toolkit before 1.20 installs its programs.
bool IsScript(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2> start{};
  return read(file.get(), start.data(), start.size()) == 2 && start == std::array{'#', '!'};
}

bool Exists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

std::vector<std::string> ManagementPaths(const ToolkitPlaces& places) {
  if (!places.management.empty()) {
    return {places.management};
  }
  const std::string stem =
      JoinPath(names::kCdiDir, container::CdiFileStem(names::kManagementCdiKind));
  return {stem + ".yaml", stem + ".json"};
}

void Collect(const container::CdiEdits& edits, std::set<std::string>& paths) {
  for (const container::CdiDeviceNode& node : edits.device_nodes) {
    paths.insert(node.host_path.empty() ? node.path : node.host_path);
  }
  for (const container::CdiMount& mount : edits.mounts) {
    paths.insert(mount.host_path);
  }
  for (const container::CdiHook& hook : edits.hooks) {
    paths.insert(hook.path);
  }
}

CdiDocument Check(const std::string& root, const std::string& path, const std::string& text) {
  CdiDocument document = {.path = path, .error = "", .missing = {}};
  // A YAML document is NVIDIA's toolkit's, and not checked.
  if (!Trim(text).starts_with("{")) {
    return document;
  }
  const Result<container::CdiSpec> spec = container::ParseCdi(text);
  if (!spec) {
    document.error = spec.error().In(path).message;
    return document;
  }
  std::set<std::string> paths;
  Collect(spec->edits, paths);
  for (const container::CdiDevice& device : spec->devices) {
    Collect(device.edits, paths);
  }
  for (const std::string& each : paths) {
    if (!Exists(Here(root, each))) {
      document.missing.push_back(each);
    }
  }
  return document;
}

}  // namespace

std::string HookHere(const ToolkitPlaces& places) {
  return Here(places.host_root, JoinPath(places.toolkit_dir, "nvidia-cdi-hook"));
}

bool IsOurs(const ToolkitPlaces& places) {
  const std::string folder = Here(places.host_root, places.toolkit_dir);
  struct stat info{};
  return lstat(JoinPath(folder, "nvidia-container-runtime").c_str(), &info) == 0 &&
         S_ISLNK(info.st_mode);
}

ToolkitObservation ObserveToolkit(const ToolkitPlaces& places) {
  ToolkitObservation seen;
  seen.hook = JoinPath(places.toolkit_dir, "nvidia-cdi-hook");
  seen.cdi_wanted = places.cdi_wanted;
  struct stat info{};
  seen.hook_is_program = stat(HookHere(places).c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
                         (info.st_mode & 0111) != 0;
  seen.hook_is_script = seen.hook_is_program && IsScript(HookHere(places));
  for (const std::string& path : ManagementPaths(places)) {
    const Result<std::string> text = ReadFile(Here(places.host_root, path));
    if (text) {
      seen.management = Check(places.host_root, path, *text);
      break;
    }
  }
  return seen;
}

std::vector<std::string> MissingHooks(const std::string& host_root, const std::string& document) {
  const Result<container::CdiSpec> spec =
      container::ParseCdi(ReadFile(Here(host_root, document)).value_or(""));
  std::set<std::string> missing;
  const auto look = [&](const container::CdiEdits& edits) {
    for (const container::CdiHook& hook : edits.hooks) {
      if (!Exists(Here(host_root, hook.path))) {
        missing.insert(hook.path);
      }
    }
  };
  if (spec) {
    look(spec->edits);
    for (const container::CdiDevice& device : spec->devices) {
      look(device.edits);
    }
  }
  return {missing.begin(), missing.end()};
}

std::vector<std::string> ToolkitPathsToWatch(const ToolkitPlaces& places) {
  return {Here(places.host_root, places.toolkit_dir), Here(places.host_root, names::kCdiDir)};
}

}  // namespace gantry::validator
