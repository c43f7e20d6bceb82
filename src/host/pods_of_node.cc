// SPDX-License-Identifier: Apache-2.0
// Which pods does a node have, and which pod does a process belong to? Container runtimes and the
// kubelet write both into names of folders.
#include "host/pods_of_node.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::host {
namespace {

constexpr size_t kUidSize = 36;
constexpr std::string_view kLogs = "/var/log/pods";
constexpr std::string_view kCgroups = "/sys/fs/cgroup";
// One hierarchy is enough: of version 2 the only one, of version 1 any that the kubelet uses.
constexpr auto kHierarchies = std::to_array<std::string_view>({"", "memory", "pids"});
constexpr auto kPodRoots = std::to_array<std::string_view>({"kubepods.slice", "kubepods"});

// "0a1b2c3d-....": hexadecimal digits and hyphens where a UUID has them.
bool IsUid(std::string_view text) {
  if (text.size() != kUidSize) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) {
      return false;
    }
  }
  return true;
}

// A static pod's uid is the hash of its file: 32 digits without hyphens.
bool IsHash(std::string_view text) {
  return text.size() == 32 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// Whether the cgroup of a pod has one of a container in it. cgroupfs counts folders in the number
// of links, as most file systems do.
bool HasContainer(const std::string& cgroup) {
  struct stat info{};
  return stat(cgroup.c_str(), &info) == 0 && info.st_nlink > 2;
}

// Below a cgroup of pods, or of one of their classes ("burstable").
void AddRunning(const std::string& folder, std::set<std::string>& running) {
  for (const std::string& name : ListDirectory(folder).value_or(std::vector<std::string>())) {
    const std::string path = JoinPath(folder, name);
    if (const std::string uid = PodUidOf(name); !uid.empty()) {
      if (HasContainer(path)) {
        running.insert(uid);
      }
    } else if (name.find("besteffort") != std::string::npos ||
               name.find("burstable") != std::string::npos) {
      AddRunning(path, running);
    }
  }
}

long long ModifiedAt(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0
             ? info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec
             : 0;
}

}  // namespace

std::string PodUidOf(std::string_view cgroup) {
  for (const std::string& part : Split(cgroup, '/')) {
    // "pod<uid>" (cgroupfs), "kubepods-burstable-pod<uid>.slice" with "_" for "-" (systemd).
    std::string_view word = Trim(part);
    const size_t pod = word.rfind("pod");
    if (pod == std::string_view::npos) {
      continue;
    }
    word.remove_prefix(pod + 3);
    if (word.ends_with(".slice")) {
      word.remove_suffix(std::string_view(".slice").size());
    }
    std::string uid(word);
    std::ranges::replace(uid, '_', '-');
    if (IsUid(uid) || IsHash(uid)) {
      return uid;
    }
  }
  return "";
}

std::optional<std::set<std::string>> RunningPods(const std::string& root) {
  for (const std::string_view hierarchy : kHierarchies) {
    for (const std::string_view pods : kPodRoots) {
      const std::string folder = JoinPath(JoinPath(JoinPath(root, kCgroups), hierarchy), pods);
      struct stat info{};
      if (stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
        std::set<std::string> running;
        AddRunning(folder, running);
        return running;
      }
    }
  }
  return std::nullopt;
}

PodsOfNode ReadPodsOfNode(const std::string& root) {
  PodsOfNode pods{.uids = {}, .running = RunningPods(root)};
  std::map<std::pair<std::string, std::string>, std::pair<bool, long long>> ranks;
  const std::string logs = JoinPath(root, kLogs);
  for (const std::string& name : ListDirectory(logs).value_or(std::vector<std::string>())) {
    const auto parts = Split(name, '_');  // no name in Kubernetes has one
    if (parts.size() != 3) {
      continue;
    }
    const std::pair rank(pods.running && pods.running->contains(parts[2]),
                         ModifiedAt(JoinPath(logs, name)));
    const auto [place, added] = ranks.try_emplace({parts[0], parts[1]}, rank);
    if (added || place->second < rank) {
      place->second = rank;
      pods.uids[place->first] = parts[2];
    }
  }
  return pods;
}

}  // namespace gantry::host
