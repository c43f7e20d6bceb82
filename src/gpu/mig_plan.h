// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "nvml/mig_control.h"

namespace gantry::gpu {

// A GPU instance that a layout has.
struct MigRequest {
  unsigned profile = 0;                // NVML_GPU_INSTANCE_PROFILE_*
  std::optional<unsigned> start = {};  // memory slice; nullopt: wherever it fits
  std::vector<unsigned> compute = {};  // slices of its compute instances, descending
  bool operator==(const MigRequest&) const = default;
};

// How a GPU is wanted. Either list, or both empty: no instances.
struct MigLayout {
  bool enabled = false;
  std::map<std::string, unsigned> devices = {};  // profile as people write it -> how many
  std::vector<MigRequest> instances = {};        // exactly these; of a layout that was there before
  bool operator==(const MigLayout&) const = default;
};

// One change of the driver's state.
struct MigStep {
  enum class Kind {
    kDestroyCompute,
    kDestroyInstance,
    kSetMode,
    kReset,
    kCreateInstance,
    kCreateCompute
  };
  Kind kind = Kind::kReset;
  bool enabled = false;  // kSetMode
  std::optional<unsigned> gpu_instance =
      {};                                 // id; nullopt for kCreateCompute: the one just created
  unsigned compute_instance = 0;          // kDestroyCompute
  nvml::GpuInstanceProfile profile = {};  // kCreateInstance
  unsigned start = 0;                     // kCreateInstance
  unsigned slices = 0;                    // kCreateCompute, kDestroyCompute
  bool operator==(const MigStep&) const = default;
};

// "create GPU instance 3g.40gb at 4", "destroy compute instance 0 of GPU instance 2", ...
std::string MigStepText(const MigStep& step);

struct MigPlan {
  std::vector<MigStep> steps;  // none: the GPU is as wanted
  // The driver reports profiles only while MIG is enabled: plan again after these steps.
  bool unfinished = false;
  unsigned kept = 0;  // compute instances that stay
};

// What makes a GPU be as wanted. Of the placements that hold all that is wanted, the plan takes one
// that keeps most compute instances, first of all those of the GPU instances `held`; equal
// questions get equal plans. Nothing changes on a GPU that has all MIG devices that are wanted and
// no others. kInvalid: an unknown profile, or no placement holds them all.
Result<MigPlan> PlanMig(const nvml::MigGpu& gpu, const MigLayout& wanted,
                        const std::set<unsigned>& held = {});

// The GPU instances of which a plan destroys something; all of them if the mode changes.
std::set<unsigned> DestroyedBy(const MigPlan& plan);
// Whether it needs the entire GPU: it changes the mode, or resets the GPU.
bool ChangesMode(const MigPlan& plan);

// The MIG devices that there are: profile -> how many.
std::map<std::string, unsigned> MigDevicesOf(const nvml::MigGpu& gpu);
// The layout that there is, each instance in its place.
MigLayout MigLayoutOf(const nvml::MigGpu& gpu);
// Whether the GPU has the mode, and unless `mode_only` the MIG devices, that are wanted. kInvalid
// as for PlanMig's profiles.
Result<bool> HasLayout(const nvml::MigGpu& gpu, const MigLayout& wanted, bool mode_only);

}  // namespace gantry::gpu
