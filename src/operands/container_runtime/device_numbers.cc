// SPDX-License-Identifier: Apache-2.0
// Which numbers do the driver's device nodes have? The kernel assigns most majors dynamically at
// module load, and lists them in /proc/devices; the minors are fixed (NVIDIA driver README, "Device
// Nodes").
#include "operands/container_runtime/device_numbers.h"

#include <map>

#include "base/paths.h"
#include "base/text.h"

namespace gantry::container_runtime {
namespace {

constexpr unsigned kControlMinor = 255;
constexpr unsigned kModesetMinor = 254;

// Character devices by their driver's name.
std::map<std::string, unsigned> Majors(std::string_view proc_devices) {
  std::map<std::string, unsigned> majors;
  for (const std::string& line : Split(proc_devices, '\n')) {
    const std::string_view entry = Trim(line);
    if (entry.starts_with("Block devices")) {
      break;
    }
    const size_t ns = entry.find(' ');
    const auto number = ParseInt(entry.substr(0, ns));
    if (number && ns != std::string_view::npos && *number >= 0) {
      majors[std::string(Trim(entry.substr(ns)))] = static_cast<unsigned>(*number);
    }
  }
  return majors;
}

const unsigned* MajorOf(const std::map<std::string, unsigned>& majors,
                        std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = majors.find(name); found != majors.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<NamedNode> ControlNodes(std::string_view proc_devices) {
  const std::map<std::string, unsigned> majors = Majors(proc_devices);
  std::vector<NamedNode> nodes;
  if (const unsigned* major = MajorOf(majors, {"nvidia", "nvidia-frontend"})) {
    nodes.push_back({"/dev/nvidiactl", {*major, kControlMinor}});
    nodes.push_back({"/dev/nvidia-modeset", {*major, kModesetMinor}});
  }
  if (const unsigned* major = MajorOf(majors, {"nvidia-uvm"})) {
    nodes.push_back({"/dev/nvidia-uvm", {*major, 0}});
    nodes.push_back({"/dev/nvidia-uvm-tools", {*major, 1}});
  }
  return nodes;
}

std::vector<NamedNode> PossibleNodes(std::string_view proc_devices, std::string_view mig_minors,
                                     const std::vector<container::CdiGpu>& gpus) {
  const std::map<std::string, unsigned> majors = Majors(proc_devices);
  std::vector<NamedNode> nodes = ControlNodes(proc_devices);
  if (const unsigned* major = MajorOf(majors, {"nvidia", "nvidia-frontend"})) {
    for (const container::CdiGpu& gpu : gpus) {
      const auto minor = static_cast<unsigned>(gpu.minor);
      nodes.push_back({format("/dev/nvidia{}", minor), {*major, minor}});
    }
  }
  if (const unsigned* major = MajorOf(majors, {"nvidia-caps"})) {
    for (const std::string& line : Split(mig_minors, '\n')) {
      const auto minor = ParseInt(line.substr(line.rfind(' ') + 1));
      if (minor && *minor >= 0) {
        nodes.push_back({format("/dev/nvidia-caps/nvidia-cap{}", *minor),
                         {*major, static_cast<unsigned>(*minor)}});
      }
    }
  }
  return nodes;
}

std::string RelativeTarget(std::string_view folder, std::string_view path) {
  constexpr std::string_view kDev = "/dev/";
  if (!folder.starts_with(kDev) || !path.starts_with(kDev)) {
    return std::string(path);
  }
  std::string up;
  for (const std::string& part : Split(folder.substr(kDev.size()), '/')) {
    up += part.empty() ? "" : "../";
  }
  return up + std::string(path.substr(kDev.size()));
}

}  // namespace gantry::container_runtime
