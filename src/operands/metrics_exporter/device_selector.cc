// SPDX-License-Identifier: Apache-2.0
// Of which GPUs and GPU instances are there series?
#include "operands/metrics_exporter/device_selector.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

// DCGM_MAX_INSTANCES_PER_GPU.
constexpr unsigned kInstancesOfGpu = 8;
constexpr long long kMostId = 9999;

std::unexpected<Error> Wrong(std::string_view part) {
  return Fail(ErrorKind::kInvalid,
              format("\"{}\" is not f, g, i or a list of ids as g:0,2-3+i:0-6", part));
}

Result<unsigned> ParseId(std::string_view text) {
  const Result<long long> id = ParseInt(text);
  if (!id || *id < 0 || *id > kMostId) {
    return Wrong(text);
  }
  return static_cast<unsigned>(*id);
}

Result<DeviceSelector::Ids> ParseIds(std::string_view text) {
  DeviceSelector::Ids ids;
  for (const std::string& part : Split(text, ',')) {
    const size_t dash = part.find('-');
    TRY_ASSIGN(const unsigned first, ParseId(part.substr(0, dash)));
    unsigned last = first;
    if (dash != std::string::npos) {
      TRY_ASSIGN(last, ParseId(part.substr(dash + 1)));
    }
    if (last < first) {
      return Wrong(part);
    }
    ids.push_back({first, last});
  }
  return ids.empty() ? Wrong(text) : Result<DeviceSelector::Ids>(std::move(ids));
}

bool Has(const std::optional<DeviceSelector::Ids>& ids, unsigned id) {
  return ids && (ids->empty() || std::ranges::any_of(*ids, [id](const auto& range) {
                   return range.first <= id && id <= range.last;
                 }));
}

// The ids of its GPU instances, one for each MIG device.
std::vector<unsigned> InstanceIds(const gpu::Gpu& gpu) {
  std::set<unsigned> instances;
  for (const nvml::MigDevice& mig : gpu.mig_devices) {
    instances.insert(mig.gpu_instance);
  }
  std::vector<unsigned> ids;
  ids.reserve(gpu.mig_devices.size());
  for (const nvml::MigDevice& mig : gpu.mig_devices) {
    const auto place = std::distance(instances.begin(), instances.find(mig.gpu_instance));
    ids.push_back(gpu.index * kInstancesOfGpu + static_cast<unsigned>(place));
  }
  return ids;
}

Status CheckIds(const std::optional<DeviceSelector::Ids>& wanted, const std::set<unsigned>& there,
                std::string_view what) {
  if (!wanted) {
    return {};
  }
  for (const auto& [first, last] : *wanted) {
    for (unsigned id = first; id <= last; ++id) {
      if (!there.contains(id)) {
        std::vector<std::string> ids;
        std::ranges::transform(there, std::back_inserter(ids),
                               [](unsigned one) { return std::to_string(one); });
        return Fail(ErrorKind::kInvalid, format("--devices: there is no {} {}; there are: {}", what,
                                                id, ids.empty() ? "none" : Join(ids, ", ")));
      }
    }
  }
  return {};
}

}  // namespace

Result<DeviceSelector> ParseDevices(std::string_view text) {
  if (text == "f") {
    return DeviceSelector{};
  }
  DeviceSelector selector{.gpus = std::nullopt, .instances = std::nullopt};
  for (const std::string& part : Split(text, '+')) {
    if (!part.starts_with('g') && !part.starts_with('i')) {
      return Wrong(part);
    }
    auto& ids = part.front() == 'g' ? selector.gpus : selector.instances;
    if (ids || (part.size() > 1 && part[1] != ':')) {
      return Wrong(part);
    }
    ids.emplace();
    if (part.size() > 1) {
      TRY_ASSIGN(ids, ParseIds(std::string_view(part).substr(2)));
    }
  }
  return selector.gpus || selector.instances ? Result<DeviceSelector>(selector) : Wrong(text);
}

unsigned InstanceId(const gpu::Gpu& gpu, unsigned gpu_instance) {
  const std::vector<unsigned> ids = InstanceIds(gpu);
  const auto found =
      std::ranges::find(gpu.mig_devices, gpu_instance, &nvml::MigDevice::gpu_instance);
  return found == gpu.mig_devices.end() ? gpu.index * kInstancesOfGpu
                                        : ids[static_cast<size_t>(found - gpu.mig_devices.begin())];
}

std::optional<Selected> Select(const DeviceSelector& selector, const gpu::Gpu& gpu) {
  Selected selected{.gpu = gpu, .own_series = Has(selector.gpus, gpu.index)};
  const std::vector<unsigned> ids = InstanceIds(gpu);
  selected.gpu.mig_devices.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (Has(selector.instances, ids[i])) {
      selected.gpu.mig_devices.push_back(gpu.mig_devices[i]);
    }
  }
  if (!selected.own_series && selected.gpu.mig_devices.empty()) {
    return std::nullopt;
  }
  selected.gpu.mig_enabled = gpu.mig_enabled && selector.instances.has_value();
  return selected;
}

Status CheckPresent(const DeviceSelector& selector, const gpu::GpuSet& set) {
  std::set<unsigned> gpus;
  std::set<unsigned> instances;
  for (const gpu::Gpu& gpu : set.gpus) {
    gpus.insert(gpu.index);
    const std::vector<unsigned> ids = InstanceIds(gpu);
    instances.insert(ids.begin(), ids.end());
  }
  for (const gpu::FailedGpu& failed : set.failed) {
    gpus.insert(failed.index);
  }
  TRY(CheckIds(selector.gpus, gpus, "GPU"));
  return CheckIds(selector.instances, instances, "GPU instance");
}

}  // namespace gantry::metrics_exporter
