// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gpu/gpu_set.h"
#include "operands/device_plugin/resources.h"

namespace gantry::device_plugin {

// What the MPS control daemon of a node has to share: the GPUs of one resource. There is one at
// most, because MPS shares whole GPUs only, and those have one resource's name.
struct MpsPlan {
  struct Gpu {
    std::string uuid;
    uint64_t memory_limit_mib = 0;  // of each client; 0: the driver does not tell its memory
    bool operator==(const Gpu&) const = default;
  };
  std::string resource;  // as the kubelet knows it: "nvidia.com/gpu.shared"
  std::vector<Gpu> gpus;
  int replicas = 0;  // how many clients share a GPU
  bool operator==(const MpsPlan&) const = default;
};

// Of what a configuration that shares by MPS offers. Nothing: no GPU is shared.
std::optional<MpsPlan> PlanMps(const Resources& offered, const gpu::GpuSet& set);

// A plan, and what is not offered, as text: for the child process that asks the driver.
std::string MpsPlanText(const std::optional<MpsPlan>& plan,
                        const std::vector<std::string>& left_out);
struct MpsPlanRead {
  std::optional<MpsPlan> plan;
  std::vector<std::string> left_out;
};
Result<MpsPlanRead> ReadMpsPlan(std::string_view text);

// "NAME=value": what nvidia-cuda-mps-control runs with, as daemon and as its own client.
std::vector<std::string> MpsEnvironment(const MpsPlan& plan);
// What the daemon is told on the standard input of its client, a line each, before it takes
// clients.
std::vector<std::string> MpsCommands(const MpsPlan& plan);

// Options of the mount that MPS shares with its clients as their /dev/shm: half of the machine's
// memory. `meminfo` is the text of /proc/meminfo.
std::string MpsShmOptions(std::string_view meminfo);

}  // namespace gantry::device_plugin
