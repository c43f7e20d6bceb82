// SPDX-License-Identifier: Apache-2.0
// What does MPS need from the driver? The list of GPUs, and that only the MPS server uses the
// shared ones: compute mode EXCLUSIVE_PROCESS (NVIDIA's MPS guide, "Compute Modes and Volta MPS").
// The mode outlives the process, so the earlier one is recorded first.
#include "operands/device_plugin/mps_control_daemon/mps_gpus.h"

#include <map>
#include <utility>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/gpu_look.h"
#include "gpu/open_nvml.h"
#include "host/files.h"
#include "operands/device_plugin/resources.h"

namespace gantry::device_plugin {
namespace {

constexpr std::chrono::seconds kLimit{30};

using Modes = std::map<std::string, nvml::ComputeMode>;  // by UUID

// A missing or unreadable record is empty.
Modes ReadRecord(const std::string& path) {
  Modes modes;
  const auto text = ReadFile(path);
  const auto json = text ? ParseJson(*text) : Result<Json>(Json::object());
  if (!json || !json->is_object()) {
    return modes;
  }
  for (const auto& [uuid, mode] : json->items()) {
    if (mode.is_number_integer()) {
      modes[uuid] = static_cast<nvml::ComputeMode>(mode.get<int>());
    }
  }
  return modes;
}

Status WriteRecord(const std::string& path, const Modes& modes) {
  Json json = Json::object();
  for (const auto& [uuid, mode] : modes) {
    json[uuid] = static_cast<int>(mode);
  }
  return host::WriteFileAtomic(path, json.dump() + "\n");
}

Result<std::unique_ptr<nvml::Library>> Open(const DriverRoots& driver,
                                            const std::string& host_root) {
  return gpu::OpenNvml({.driver_root = driver.root_here,
                        .or_by_loader = true,
                        .dev_root = driver.dev_root_here,
                        .sys = JoinPath(host_root, "sys")});
}

}  // namespace

MpsGpus::MpsGpus(std::string host_root, std::string record, int stop_fd)
    : host_root_(std::move(host_root)),
      record_(std::move(record)),
      stop_fd_(stop_fd),
      call_("ask the driver") {}

Result<MpsPlanRead> MpsGpus::Look(const Settings& settings) {
  const auto look = [&]() -> Result<std::string> {
    TRY_ASSIGN(const auto library, Open(settings.driver, host_root_));
    TRY_ASSIGN(const auto set, gpu::LookAtGpus(*library, host_root_));
    const auto offered = OfferedResources(set, settings, {});
    return MpsPlanText(PlanMps(offered, set), offered.left_out);
  };
  TRY_ASSIGN(const auto text, call_.Run(look, kLimit, stop_fd_));
  return ReadMpsPlan(text);
}

Result<std::vector<std::string>> MpsGpus::MakeExclusive(const Settings& settings,
                                                        const MpsPlan& plan) {
  const auto make = [&]() -> Result<std::string> {
    TRY_ASSIGN(const auto library, Open(settings.driver, host_root_));
    auto before = ReadRecord(record_);
    for (const auto& gpu : plan.gpus) {
      if (const auto mode = library->GetComputeMode(gpu.uuid)) {
        before.emplace(gpu.uuid, *mode);
      }
    }
    TRY(WriteRecord(record_, before));
    std::vector<std::string> sentences;
    for (const auto& gpu : plan.gpus) {
      auto set = library->SetComputeMode(gpu.uuid, nvml::ComputeMode::kExclusiveProcess);
      if (!set) {
        sentences.push_back(
            format("{} is not closed to processes outside MPS: {}", gpu.uuid, set.error().message));
      }
    }
    return Join(sentences, "\n");
  };
  TRY_ASSIGN(const auto text, call_.Run(make, kLimit, stop_fd_));
  return Split(text, '\n');
}

Status MpsGpus::Restore(const DriverRoots& driver) {
  const auto before = ReadRecord(record_);
  if (before.empty()) {
    return {};
  }
  const auto restore = [&]() -> Result<std::string> {
    TRY_ASSIGN(const auto library, Open(driver, host_root_));
    for (const auto& [uuid, mode] : before) {
      // A removed GPU has no mode to restore; one whose mode can't be set never had another.
      [[maybe_unused]] const auto set = library->SetComputeMode(uuid, mode);
    }
    return std::string();
  };
  TRY(call_.Run(restore, kLimit, -1));
  return host::RemoveFile(record_);
}

}  // namespace gantry::device_plugin
