// SPDX-License-Identifier: Apache-2.0
// Which program runs a container's hooks, how often, and with which arguments? Every call is a
// process at every container start, so Gantry's program does everything in one. A node may have
// NVIDIA's programs instead: nvidia-cdi-hook and nvidia-ctk before 1.18 fail at an unknown hook,
// later ones ignore it, and all of them fail at an unknown flag of a known hook.
#include "container/cdi_hooks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container {
namespace {

bool Wanted(std::string_view name, const HookSwitches& switches) {
  return std::ranges::find(switches.enabled, name) != switches.enabled.end() ||
         std::ranges::none_of(switches.disabled, [&](const std::string& each) {
           return each == "all" || each == name;
         });
}

// The work without that of disabled hooks.
HookWork WithoutDisabled(const HookSwitches& switches, HookWork work) {
  if (!Wanted("update-ldcache", switches)) {
    for (const HookLibrary& library : work.libraries) {
      const std::string file = BaseName(library.path);
      if (library.soname != file) {
        work.links.push_back({file, JoinPath(ParentOf(library.path), library.soname)});
      }
    }
    work.libraries.clear();
    work.folders.clear();
  }
  if (!Wanted("create-symlinks", switches)) {
    work.links.clear();
    work.device_links.clear();
  }
  if (!Wanted("enable-cuda-compat", switches)) {
    work.driver_version.clear();
    work.cuda_version.clear();
    work.compat_folder.clear();
  }
  work.disable_device_node_modification =
      work.disable_device_node_modification && Wanted("disable-device-node-modification", switches);
  work.update_application_profile =
      work.update_application_profile && Wanted("update-application-profile", switches);
  return work;
}

class Calls {
 public:
  explicit Calls(const HookProgram& program) : program_(program) {}

  // A call without work is left out.
  void Add(std::string_view name, const std::vector<std::string>& flags) {
    if (flags.empty()) {
      return;
    }
    std::vector<std::string> words = HookWords(program_.path, name);
    words.insert(words.end(), flags.begin(), flags.end());
    hooks_.push_back(
        {"createContainer", program_.path, std::move(words), {"NVIDIA_CTK_DEBUG=false"}});
  }

  std::vector<CdiHook> Take() { return std::move(hooks_); }

 private:
  const HookProgram& program_;
  std::vector<CdiHook> hooks_;
};

void AddLinks(const char* flag, const std::vector<HookLink>& links,
              std::vector<std::string>& flags) {
  for (const HookLink& link : links) {
    flags.insert(flags.end(), {flag, format("{}::{}", link.target, link.path)});
  }
}

void AddIfSet(const char* flag, const std::string& value, std::vector<std::string>& flags) {
  if (!value.empty()) {
    flags.insert(flags.end(), {flag, value});
  }
}

std::vector<std::string> FlagsOfOurs(const HookWork& work) {
  std::vector<std::string> flags;
  AddLinks("--link", work.links, flags);
  AddLinks("--device-link", work.device_links, flags);
  AddIfSet("--host-driver-version", work.driver_version, flags);
  AddIfSet("--host-cuda-version", work.cuda_version, flags);
  AddIfSet("--cuda-compat-container-root", work.compat_folder, flags);
  for (const HookLibrary& library : work.libraries) {
    flags.insert(flags.end(), {"--library", library.soname + "=" + library.path});
  }
  for (const std::string& folder : work.folders) {
    flags.insert(flags.end(), {"--folder", folder});
  }
  if (work.disable_device_node_modification) {
    flags.emplace_back("--disable-device-node-modification");
  }
  if (work.update_application_profile) {
    flags.emplace_back("--update-application-profile");
  }
  return flags;
}

// 1.17.8 has neither the other hooks nor more of these flags.
void AddNvidias(const HookWork& work, Calls& calls) {
  std::vector<std::string> links;
  AddLinks("--link", work.links, links);
  AddLinks("--link", work.device_links, links);
  std::set<std::string> folders(work.folders.begin(), work.folders.end());
  for (const HookLibrary& library : work.libraries) {
    folders.insert(ParentOf(library.path));
  }
  calls.Add("create-symlinks", links);
  // Before update-ldcache, so that the cache gets its libraries. 1.17.8 only searches the usual
  // folder.
  if (work.compat_folder.empty() && !work.driver_version.empty()) {
    calls.Add("enable-cuda-compat", {"--host-driver-version", work.driver_version});
  }
  std::vector<std::string> searched;
  for (const std::string& folder : folders) {
    searched.insert(searched.end(), {"--folder", folder});
  }
  calls.Add("update-ldcache", searched);
}

}  // namespace

std::vector<CdiHook> HooksFor(const HookProgram& program, const HookSwitches& switches,
                              const HookWork& work) {
  if (program.path.empty()) {
    return {};
  }
  const HookWork wanted = WithoutDisabled(switches, work);
  Calls calls(program);
  if (program.ours) {
    calls.Add("create-container", FlagsOfOurs(wanted));
  } else {
    AddNvidias(wanted, calls);
  }
  return calls.Take();
}

std::vector<std::string> HookWords(const std::string& program_path, std::string_view name) {
  const std::string program = BaseName(program_path);
  return program == "nvidia-ctk" ? std::vector<std::string>{program, "hook", std::string(name)}
                                 : std::vector<std::string>{program, std::string(name)};
}

}  // namespace gantry::container
