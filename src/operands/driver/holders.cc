// SPDX-License-Identifier: Apache-2.0
// Which processes and pods keep the driver from being unloaded? Those with an open descriptor of
// it. Mappings need no check: programs with CUDA or NVML keep the descriptor of a mapping open.
#include "operands/driver/holders.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace gantry::driver {
namespace {

constexpr std::string_view kDevice = "/dev/nvidia";
constexpr size_t kNamedHolders = 5;
constexpr size_t kUidSize = 36;

// "0a1b2c3d-....": hexadecimal digits, with hyphens as in a UUID.
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

std::vector<Holder> HoldersAmong(const std::vector<ProcessText>& processes) {
  std::vector<Holder> holders;
  for (const ProcessText& process : processes) {
    // A driver container has the nodes in its own root's /dev: ".../dev/nvidia0".
    const auto device = std::ranges::find_if(process.descriptors, [](const std::string& target) {
      return target.find(kDevice) != std::string::npos;
    });
    if (device != process.descriptors.end()) {
      holders.push_back({.pid = process.pid,
                         .name = std::string(Trim(process.name)),
                         .device = device->substr(device->find(kDevice)),
                         .pod_uid = PodUidOf(process.cgroup)});
    }
  }
  std::ranges::sort(holders, {}, &Holder::pid);
  return holders;
}

std::string Describe(const std::vector<Holder>& holders, const std::vector<PodName>& pod_names) {
  std::vector<std::string> parts;
  for (const Holder& holder : holders) {
    if (parts.size() == kNamedHolders) {
      parts.push_back(format("and {} more", holders.size() - kNamedHolders));
      break;
    }
    std::string pod;
    if (!holder.pod_uid.empty()) {
      const auto named = std::ranges::find(pod_names, holder.pod_uid, &PodName::uid);
      pod = format(", pod {}", named == pod_names.end() ? holder.pod_uid : named->name);
    }
    parts.push_back(format("process {} ({}, {}{})", holder.pid, holder.name, holder.device, pod));
  }
  return Join(parts, ", ");
}

}  // namespace gantry::driver
