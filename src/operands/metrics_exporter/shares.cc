// SPDX-License-Identifier: Apache-2.0
// What does each pod of a shared GPU use of it? Memory is what NVML says of its processes. Time is
// what their kernels took, and power and energy go by that time: what is drawn while no kernel runs
// is no pod's.
#include "operands/metrics_exporter/shares.h"

#include <nvml.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gantry::metrics_exporter {
namespace {

using nvml::Source;

double SumOfTimes(const Uses& uses) {
  double sum = uses.other.time;
  for (const auto& [uid, use] : uses.pods) {
    sum += use.time;
  }
  return sum;
}

// Kernels of several processes may run at once: together they took no more than all of the GPU's
// busy time.
void FitTimes(Uses& uses) {
  const double sum = SumOfTimes(uses);
  if (sum <= uses.busy || sum <= 0) {
    return;
  }
  for (auto& [uid, use] : uses.pods) {
    use.time *= uses.busy / sum;
  }
  uses.other.time *= uses.busy / sum;
}

void AddEnergy(const Uses& before, Uses& uses) {
  uses.other.energy = before.other.energy;
  for (const auto& [uid, use] : before.pods) {
    const auto now = uses.pods.find(uid);
    (now == uses.pods.end() ? uses.other : now->second).energy += use.energy;
  }
  // A counter that begins anew tells nothing about the time before.
  if (!uses.energy || !before.energy || *uses.energy < *before.energy) {
    return;
  }
  const double used = *uses.energy - *before.energy;
  for (auto& [uid, use] : uses.pods) {
    use.energy += used * use.time;
  }
  uses.other.energy += used * uses.other.time;
}

double Amount(Divided by, const Use& use, const Uses& uses, double factor) {
  switch (by) {
    case Divided::kMemory:
      return use.memory * factor;
    case Divided::kTime:
      return uses.busy > 0 ? use.time / uses.busy : 0;
    case Divided::kPower:
      return use.time;
    default:
      return use.energy * factor;
  }
}

// What a holder has in the units of the value, before it is made to fit.
std::vector<std::optional<double>> Amounts(Divided by, const Field& field, double value,
                                           const Uses& uses, std::span<const gpu::Holder> holders) {
  const bool of_value = by == Divided::kTime || by == Divided::kPower;
  std::set<std::string> seen;
  std::vector<std::optional<double>> amounts;
  for (const gpu::Holder& holder : holders) {
    if (holder.uid.empty() || !seen.insert(holder.uid).second) {
      amounts.emplace_back();
      continue;
    }
    const auto use = uses.pods.find(holder.uid);
    const double amount = use == uses.pods.end() ? 0 : Amount(by, use->second, uses, field.factor);
    amounts.emplace_back(of_value ? amount * value : amount);
  }
  return amounts;
}

// Without what arithmetic leaves behind the sixth decimal. Whole: what there is in full.
double Rounded(double value, bool whole) {
  constexpr double kMillion = 1e6;
  return whole ? std::floor(value + 1 / kMillion) : std::round(value * kMillion) / kMillion;
}

double SumOf(const std::vector<std::optional<double>>& amounts) {
  double sum = 0;
  for (const auto& amount : amounts) {
    sum += amount.value_or(0);
  }
  return sum;
}

}  // namespace

Uses UsesOf(const DeviceUse& device, const std::map<unsigned, std::string>& pod_of,
            const std::optional<std::set<std::string>>& running, const Uses& before) {
  Uses uses;
  uses.timed = device.processes.timed && device.utilization.has_value();
  uses.busy = uses.timed ? std::clamp(*device.utilization / 100, 0.0, 1.0) : 0;
  uses.energy = device.energy;
  for (const auto& [pid, process] : device.processes.by_pid) {
    const auto pod = pod_of.find(pid);
    Use& use = pod == pod_of.end() ? uses.other : uses.pods[pod->second];
    use.memory += static_cast<double>(process.memory);
    use.time += process.sm / 100;
  }
  for (const auto& [uid, use] : before.pods) {
    if (running && running->contains(uid)) {
      uses.pods.try_emplace(uid);
    }
  }
  FitTimes(uses);
  AddEnergy(before, uses);
  return uses;
}

Divided DividedBy(const Field& field) {
  if (field.from == From::kGpm) {
    return field.reading.argument == NVML_GPM_METRIC_GRAPHICS_UTIL ? Divided::kTime : Divided::kNot;
  }
  if (field.from != From::kNvml) {
    return Divided::kNot;
  }
  switch (field.reading.source) {
    case Source::kMemoryUsed:
      return Divided::kMemory;
    case Source::kUtilizationGpu:
      return Divided::kTime;
    case Source::kPower:
      return Divided::kPower;
    case Source::kFieldValue:
      return field.reading.argument == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION ? Divided::kEnergy
             : field.reading.argument == NVML_FI_DEV_POWER_INSTANT          ? Divided::kPower
                                                                            : Divided::kNot;
    default:
      return Divided::kNot;
  }
}

std::optional<Portions> Divide(const Field& field, double value, const Uses& uses,
                               std::span<const gpu::Holder> holders) {
  const Divided by = DividedBy(field);
  if (by == Divided::kNot || (by != Divided::kMemory && !uses.timed)) {
    return std::nullopt;
  }
  Portions portions{.holders = Amounts(by, field, value, uses, holders), .other = 0, .rest = {}};
  const double sum = SumOf(portions.holders);
  // Value and processes were read one after the other.
  const double fit = sum > value ? value / sum : 1;
  // A percentage of a pod has decimals also where the GPU's has none.
  const bool whole = field.shape == Shape::kWhole && by != Divided::kTime;
  for (auto& amount : portions.holders) {
    if (amount) {
      *amount = Rounded(*amount * fit, whole);
    }
  }
  const double left = std::max(0.0, value - SumOf(portions.holders));
  if (by == Divided::kMemory) {
    portions.other = left;
    return portions;
  }
  // Processes outside of pods, and of pods that are no holders by the kubelet's list.
  double outside = Amount(by, uses.other, uses, field.factor);
  for (const auto& [uid, use] : uses.pods) {
    if (std::ranges::find(holders, uid, &gpu::Holder::uid) == holders.end()) {
      outside += Amount(by, use, uses, field.factor);
    }
  }
  outside = std::min(by == Divided::kEnergy ? outside : outside * value, left);
  portions.other = Rounded(outside, whole);
  portions.rest = Rounded(left - portions.other, whole);
  return portions;
}

}  // namespace gantry::metrics_exporter
