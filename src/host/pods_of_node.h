// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

// Pods as the folders of a node show them: no question to the kubelet or the API server.
namespace gantry::host {

// Of the pod whose cgroup (cgroups(7), version 1 or 2, drivers systemd and cgroupfs) a process is
// in, from the text of /proc/<pid>/cgroup; empty if it is in none.
std::string PodUidOf(std::string_view cgroup);

struct PodsOfNode {
  // By namespace and name, from /var/log/pods/<namespace>_<name>_<uid>. The kubelet's own uids: of
  // a static pod that of its file, which its cgroup has too. Of several pods that had one name,
  // that with a container, then the newest.
  std::map<std::pair<std::string, std::string>, std::string> uids;
  // Uids of pods with a container's cgroup; nullopt: this node's cgroups of pods are not seen.
  std::optional<std::set<std::string>> running;
  bool operator==(const PodsOfNode&) const = default;
};

// Reads a node whose root is mounted at `root`.
PodsOfNode ReadPodsOfNode(const std::string& root);
// Its `running` alone.
std::optional<std::set<std::string>> RunningPods(const std::string& root);

}  // namespace gantry::host
