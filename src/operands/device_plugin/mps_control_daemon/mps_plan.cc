// SPDX-License-Identifier: Apache-2.0
// Which GPUs does the MPS control daemon share, among how many clients, and which commands does it
// get? Decided by the resources that the plugin offers, so that every allocated share has a daemon.
// Variables and commands are those of nvidia-cuda-mps-control (NVIDIA's MPS guide, appendix of
// tools).
//
// The daemon sees only the shared GPUs, by UUID: it counts them in that order, and the memory
// limits use these numbers. NVIDIA's plugin shows it every GPU of the node.
#include "operands/device_plugin/mps_control_daemon/mps_plan.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "operands/device_plugin/allocate.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

// Variables that only nvidia-cuda-mps-control reads.
constexpr char kLogDirectory[] = "CUDA_MPS_LOG_DIRECTORY";
constexpr char kVisibleGpus[] = "CUDA_VISIBLE_DEVICES";

}  // namespace

std::optional<MpsPlan> PlanMps(const Resources& offered, const gpu::GpuSet& set) {
  for (const auto& resource : offered.resources) {
    MpsPlan plan{.resource = resource.name, .gpus = {}, .replicas = 0};
    for (const auto& unit : resource.units) {
      if (unit.replicas == 1) {
        continue;
      }
      plan.replicas = unit.replicas;
      const auto gpu = std::ranges::find(set.gpus, unit.gpu_uuid, &gpu::Gpu::uuid);
      plan.gpus.push_back(
          {.uuid = unit.uuid,
           .memory_limit_mib = gpu->memory_mib / static_cast<uint64_t>(unit.replicas)});
    }
    if (!plan.gpus.empty()) {
      return plan;
    }
  }
  return std::nullopt;
}

std::string MpsPlanText(const std::optional<MpsPlan>& plan,
                        const std::vector<std::string>& left_out) {
  Json text = {{"leftOut", left_out}};
  if (plan) {
    text["resource"] = plan->resource;
    text["replicas"] = plan->replicas;
    for (const auto& gpu : plan->gpus) {
      text["gpus"].push_back({{"uuid", gpu.uuid}, {"memory", gpu.memory_limit_mib}});
    }
  }
  return text.dump();
}

Result<MpsPlanRead> ReadMpsPlan(std::string_view text) {
  TRY_ASSIGN(const Json json, ParseJson(text));
  MpsPlanRead read;
  for (const auto& sentence : ListAt(json, "leftOut")) {
    read.left_out.push_back(sentence.is_string() ? sentence.get<std::string>() : sentence.dump());
  }
  if (TextAt(json, "resource").empty()) {
    return read;
  }
  MpsPlan plan{.resource = TextAt(json, "resource"),
               .gpus = {},
               .replicas = static_cast<int>(IntAt(json, "replicas", 0))};
  for (const auto& gpu : ListAt(json, "gpus")) {
    plan.gpus.push_back({.uuid = TextAt(gpu, "uuid"),
                         .memory_limit_mib = static_cast<uint64_t>(IntAt(gpu, "memory", 0))});
  }
  read.plan = std::move(plan);
  return read;
}

std::vector<std::string> MpsEnvironment(const MpsPlan& plan) {
  std::vector<std::string> uuids;
  uuids.reserve(plan.gpus.size());
  for (const auto& gpu : plan.gpus) {
    uuids.push_back(gpu.uuid);
  }
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          format("{}={}", names::kMpsPipeDirectory, JoinPath(kMpsRoot, MpsPipe(plan.resource))),
          format("{}={}", kLogDirectory, JoinPath(kMpsRoot, MpsLog(plan.resource))),
          format("{}={}", kVisibleGpus, Join(uuids, ","))};
}

std::vector<std::string> MpsCommands(const MpsPlan& plan) {
  std::vector<std::string> commands;
  for (size_t i = 0; i < plan.gpus.size(); ++i) {
    if (const auto limit = plan.gpus[i].memory_limit_mib; limit > 0) {
      commands.push_back(format("set_default_device_pinned_mem_limit {} {}M", i, limit));
    }
  }
  commands.push_back(format("set_default_active_thread_percentage {}", 100 / plan.replicas));
  return commands;
}

std::string MpsShmOptions(std::string_view meminfo) {
  constexpr std::string_view kTotal = "MemTotal:";
  long long half_kib = 65536;
  for (const auto& line : Split(meminfo, '\n')) {
    if (!line.starts_with(kTotal)) {
      continue;
    }
    const auto words = Split(Trim(std::string_view(line).substr(kTotal.size())), ' ');
    if (const auto total = ParseInt(words.empty() ? "" : words[0]); total && *total > 1) {
      half_kib = *total / 2;
    }
  }
  return format("size={}k", half_kib);
}

}  // namespace gantry::device_plugin
