// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/pod_gpus.h"
#include "nvml/processes.h"
#include "operands/metrics_exporter/fields.h"

// What of a shared GPU each pod uses, by its processes.
namespace gantry::metrics_exporter {

struct Use {
  double memory = 0;  // bytes
  double time = 0;    // of all time, 0 to 1, in which its kernels ran
  double energy = 0;  // millijoules since its first process was seen
  bool operator==(const Use&) const = default;
};

struct Uses {
  std::map<std::string, Use> pods;    // by uid; also those without a process now, while they run
  Use other = {};                     // processes outside of pods, and energy of pods that ended
  double busy = 0;                    // of all time, in which any kernel ran; no less than the sum
  bool timed = false;                 // not in MIG mode: time and energy say nothing
  std::optional<double> energy = {};  // the GPU's own counter, millijoules
};

// What was asked of a GPU or GPU instance, in one go.
struct DeviceUse {
  nvml::ProcessUses processes;
  std::optional<double> utilization;  // percent
  std::optional<double> energy;       // millijoules
};

// The pods' uses since `before`. `pod_of` has the processes that are in pods; `running` the pods
// that have containers (nullopt: not known, then those with processes).
Uses UsesOf(const DeviceUse& device, const std::map<unsigned, std::string>& pod_of,
            const std::optional<std::set<std::string>>& running, const Uses& before);

// What of a field's value pods have parts in.
enum class Divided : uint8_t { kNot, kMemory, kTime, kPower, kEnergy };
Divided DividedBy(const Field& field);

// One value divided. What `holders`, `other` and `rest` have together is the value: memory to the
// MiB, the others but for rounding.
struct Portions {
  // A value for each holder. nullopt: the uid of its pod is not known, or another holder before it
  // is of the same pod and has all of the pod's.
  std::vector<std::optional<double>> holders;
  double other = 0;            // outside of these pods
  std::optional<double> rest;  // what no process accounts for: idle time, and its power
};

// nullopt: it can't be divided.
std::optional<Portions> Divide(const Field& field, double value, const Uses& uses,
                               std::span<const gpu::Holder> holders);

}  // namespace gantry::metrics_exporter
