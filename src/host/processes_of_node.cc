// SPDX-License-Identifier: Apache-2.0
// Which processes run on this node? Read from /proc.
#include <unistd.h>

#include <array>

#include "base/paths.h"
#include "base/text.h"
#include "host/device_holders.h"

namespace gantry::host {
namespace {

std::string TargetOf(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

}  // namespace

Result<std::vector<ProcessText>> ReadProcesses(const std::string& proc) {
  TRY_ASSIGN(const std::vector<std::string> entries, ListDirectory(proc));
  std::vector<ProcessText> processes;
  for (const std::string& entry : entries) {
    const auto pid = ParseInt(entry);
    if (!pid) {
      continue;
    }
    const std::string folder = JoinPath(proc, entry);
    ProcessText process{.pid = static_cast<pid_t>(*pid),
                        .name = ReadFile(JoinPath(folder, "comm")).value_or(""),
                        .cgroup = ReadFile(JoinPath(folder, "cgroup")).value_or(""),
                        .descriptors = {}};
    const std::string descriptors = JoinPath(folder, "fd");
    for (const std::string& fd : ListDirectory(descriptors).value_or(std::vector<std::string>())) {
      process.descriptors.push_back(TargetOf(JoinPath(descriptors, fd)));
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace gantry::host
