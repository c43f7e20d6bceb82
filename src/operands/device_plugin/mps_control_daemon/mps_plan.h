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

// The GPUs of one resource that the MPS control daemon of a node shares. There is at most one
// resource, because MPS shares full GPUs only, and those have one resource name.
struct MpsPlan {
  struct Gpu {
    std::string uuid;
    uint64_t memory_limit_mib = 0;  // of each client; 0: the driver does not report the memory
    bool operator==(const Gpu&) const = default;
  };
  std::string resource;  // as the kubelet sees it: "nvidia.com/gpu.shared"
  std::vector<Gpu> gpus;
  int replicas = 0;  // number of clients of a GPU
  bool operator==(const MpsPlan&) const = default;
};

// The plan for the offer of a configuration with MPS. Nothing: no GPU is shared.
std::optional<MpsPlan> PlanMps(const Resources& offered, const gpu::GpuSet& set);

// A plan, and the left out GPUs, as text: for the child process that calls the driver.
std::string MpsPlanText(const std::optional<MpsPlan>& plan,
                        const std::vector<std::string>& left_out);
struct MpsPlanRead {
  std::optional<MpsPlan> plan;
  std::vector<std::string> left_out;
};
Result<MpsPlanRead> ReadMpsPlan(std::string_view text);

// "NAME=value": the environment of nvidia-cuda-mps-control, as daemon and as its own client.
std::vector<std::string> MpsEnvironment(const MpsPlan& plan);
// The commands for the daemon, a line each on its client's standard input, before it accepts
// clients.
std::vector<std::string> MpsCommands(const MpsPlan& plan);

// Options of the mount that MPS shares with its clients as their /dev/shm: half of the machine's
// memory. `meminfo` is the text of /proc/meminfo.
std::string MpsShmOptions(std::string_view meminfo);

}  // namespace gantry::device_plugin
