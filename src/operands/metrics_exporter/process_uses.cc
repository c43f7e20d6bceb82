// SPDX-License-Identifier: Apache-2.0
// Which processes use a GPU now, and of which pods are they?
#include "operands/metrics_exporter/process_uses.h"

#include <nvml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>
#include <variant>

#include "base/paths.h"
#include "base/text.h"
#include "host/pods_of_node.h"
#include "nvml/sample.h"

namespace gantry::metrics_exporter {
namespace {

std::optional<double> NumberOf(const nvml::Answer& answer) {
  const double* number = answer ? std::get_if<double>(&*answer) : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::map<unsigned, std::string> PodsOf(const nvml::ProcessUses& processes,
                                       const std::string& root) {
  std::map<unsigned, std::string> pods;
  for (const auto& [pid, use] : processes.by_pid) {
    const auto cgroup = ReadFile(JoinPath(root, format("/proc/{}/cgroup", pid)));
    std::string uid = cgroup ? host::PodUidOf(*cgroup) : "";
    if (!uid.empty()) {
      pods[pid] = std::move(uid);
    }
  }
  return pods;
}

}  // namespace

std::optional<Uses> ReadUses(const nvml::Library& library,
                             const std::vector<nvml::FoundDevice>& handles,
                             const NodeProcesses& node, UsesBefore& before) {
  constexpr auto kReadings = std::to_array<nvml::Reading>(
      {{.source = nvml::Source::kUtilizationGpu},
       {.source = nvml::Source::kFieldValue, .argument = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION}});
  DeviceUse device;
  for (const nvml::FoundDevice& handle : handles) {
    const auto processes = nvml::Processes(library, handle, before.asked);
    if (!processes) {
      return std::nullopt;
    }
    device.processes.by_pid.insert(processes->by_pid.begin(), processes->by_pid.end());
    device.processes.timed = processes->timed;
    device.processes.asked = std::max(device.processes.asked, processes->asked);
  }
  if (const auto answers = nvml::Read(library, handles.front(), kReadings)) {
    device.utilization = NumberOf(answers->at(0));
    device.energy = NumberOf(answers->at(1));
  }
  before.uses = UsesOf(device, PodsOf(device.processes, node.root), node.running, before.uses);
  before.asked = device.processes.asked;
  return before.uses;
}

bool SeesProcessesOfNode(const std::string& root) {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  const auto node = std::filesystem::read_symlink(JoinPath(root, "/proc/1/ns/pid"), error);
  return error || own == node;
}

}  // namespace gantry::metrics_exporter
