// SPDX-License-Identifier: Apache-2.0
// Which changes make a GPU be divided as wanted? Only what differs is destroyed or created; where
// instances go is decided in mig_placement.cc.
#include "gpu/mig_plan.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/text.h"
#include "gpu/mig_placement.h"
#include "gpu/mig_profile.h"

namespace gantry::gpu {
namespace {

using Kind = MigStep::Kind;

std::string GpuText(const nvml::MigGpu& gpu) { return format("GPU {} ({})", gpu.index, gpu.name); }

// Compute instances of one profile of GPU instances, in as few GPU instances as they fit into.
std::vector<MigRequest> Packed(unsigned profile, unsigned slices, std::vector<unsigned> compute) {
  std::ranges::sort(compute, std::greater());
  std::vector<MigRequest> packed;
  std::vector<unsigned> room;
  for (const unsigned one : compute) {
    const auto found = std::ranges::find_if(room, [&](unsigned left) { return left >= one; });
    if (found == room.end()) {
      packed.push_back({.profile = profile, .compute = {one}});
      room.push_back(slices - one);
    } else {
      packed[static_cast<size_t>(found - room.begin())].compute.push_back(one);
      *found -= one;
    }
  }
  return packed;
}

// What is wanted by name, as this GPU's own profiles: profile -> how many.
Result<std::map<std::string, unsigned>> OwnNames(const nvml::MigGpu& gpu, const MigLayout& wanted) {
  std::map<std::string, unsigned> own;
  for (const auto& [name, count] : wanted.devices) {
    TRY_ASSIGN(const MigProfile profile, ParseMigProfile(name));
    if (count == 0) {
      continue;
    }
    const auto found = FindMigProfile(profile, gpu.profiles);
    if (!found.has_value()) {
      return std::unexpected(found.error().In(GpuText(gpu)));
    }
    MigProfile of_gpu = ParseMigProfile((*found)->name).value();
    of_gpu.compute = profile.compute;
    own[MigProfileText(of_gpu)] += count;
  }
  return own;
}

// More than a GPU can hold is refused before it is made a list of.
constexpr unsigned kMostDevices = 64;

Result<std::vector<MigRequest>> RequestsOf(const nvml::MigGpu& gpu, const MigLayout& wanted) {
  TRY_ASSIGN(const auto own, OwnNames(gpu, wanted));
  std::map<unsigned, std::vector<unsigned>> compute;  // by index of the profile
  for (const auto& [name, count] : own) {
    if (count > kMostDevices) {
      return Fail(ErrorKind::kInvalid,
                  format("{}: {} of {} do not fit", GpuText(gpu), count, name));
    }
    const MigProfile profile = ParseMigProfile(name).value();
    const auto* found = FindMigProfile(profile, gpu.profiles).value();
    auto& into = compute[static_cast<unsigned>(found - gpu.profiles.data())];
    into.insert(into.end(), count, profile.compute);
  }
  std::vector<MigRequest> requests = wanted.instances;
  for (const auto& [index, slices] : compute) {
    const nvml::GpuInstanceProfile& profile = gpu.profiles[index];
    for (MigRequest& one : Packed(profile.number, profile.slices, slices)) {
      requests.push_back(std::move(one));
    }
  }
  for (const MigRequest& one : requests) {
    if (ProfileOfNumber(gpu, one.profile) == nullptr) {
      return Fail(ErrorKind::kInvalid, format("{}: no profile of GPU instances has the number {}",
                                              GpuText(gpu), one.profile));
    }
  }
  return requests;
}

MigStep DestroyCompute(unsigned gpu_instance, const nvml::ComputeInstance& one) {
  return {.kind = Kind::kDestroyCompute,
          .gpu_instance = gpu_instance,
          .compute_instance = one.id,
          .slices = one.slices};
}

void DestroyInstance(const nvml::GpuInstance& instance, std::vector<MigStep>& steps) {
  for (const nvml::ComputeInstance& one : instance.compute) {
    steps.push_back(DestroyCompute(instance.id, one));
  }
  steps.push_back({.kind = Kind::kDestroyInstance, .gpu_instance = instance.id});
}

void CreateCompute(std::optional<unsigned> gpu_instance, std::span<const unsigned> slices,
                   std::vector<MigStep>& steps) {
  for (const unsigned one : slices) {
    steps.push_back({.kind = Kind::kCreateCompute, .gpu_instance = gpu_instance, .slices = one});
  }
}

// Makes the compute instances of a GPU instance that stays those of the request.
void Adjust(const nvml::GpuInstance& instance, const MigRequest& request, MigPlan& plan,
            std::vector<MigStep>& creations) {
  const std::vector<unsigned> kept = KeptCompute(instance, request.compute);
  plan.kept += static_cast<unsigned>(kept.size());
  std::vector<unsigned> missing = request.compute;
  for (const nvml::ComputeInstance& one : instance.compute) {
    if (std::ranges::find(kept, one.id) == kept.end()) {
      plan.steps.push_back(DestroyCompute(instance.id, one));
    } else {
      missing.erase(std::ranges::find(missing, one.slices));
    }
  }
  CreateCompute(instance.id, missing, creations);
}

void Create(const nvml::MigGpu& gpu, const MigRequest& request, unsigned start,
            std::vector<MigStep>& steps) {
  steps.push_back({.kind = Kind::kCreateInstance,
                   .profile = *ProfileOfNumber(gpu, request.profile),
                   .start = start});
  CreateCompute(std::nullopt, request.compute, steps);
}

// The steps between two sets of instances of a GPU whose mode stays or has been set.
Status PlanInstances(const nvml::MigGpu& gpu, const std::vector<MigRequest>& requests,
                     const std::set<unsigned>& held, MigPlan& plan) {
  const auto starts = PlaceMig(gpu, requests, held);
  if (!starts.has_value()) {
    std::vector<std::string> names;
    names.reserve(requests.size());
    for (const MigRequest& one : requests) {
      names.push_back(ProfileOfNumber(gpu, one.profile)->name);
    }
    return Fail(ErrorKind::kInvalid,
                format("{}: no placement holds these GPU instances together: {}", GpuText(gpu),
                       Join(names, ", ")));
  }
  std::vector<MigStep> creations;
  std::set<unsigned> stay;
  for (size_t i = 0; i < requests.size(); ++i) {
    const nvml::GpuInstance* there = InstanceAt(gpu, requests[i].profile, (*starts)[i]);
    if (there == nullptr) {
      Create(gpu, requests[i], (*starts)[i], creations);
    } else {
      stay.insert(there->id);
      Adjust(*there, requests[i], plan, creations);
    }
  }
  for (const nvml::GpuInstance& one : gpu.instances) {
    if (!stay.contains(one.id)) {
      DestroyInstance(one, plan.steps);
    }
  }
  plan.steps.insert(plan.steps.end(), creations.begin(), creations.end());
  return {};
}

bool HasEmptyInstance(const nvml::MigGpu& gpu) {
  return std::ranges::any_of(gpu.instances,
                             [](const nvml::GpuInstance& one) { return one.compute.empty(); });
}

// The steps up to the wanted mode. Where a reset is due the driver says after kSetMode.
void PlanMode(const nvml::MigGpu& gpu, bool enabled, MigPlan& plan) {
  if (gpu.enabled != enabled) {
    for (const nvml::GpuInstance& one : gpu.instances) {
      DestroyInstance(one, plan.steps);
    }
  }
  if (gpu.enabled_pending != enabled) {
    plan.steps.push_back({.kind = Kind::kSetMode, .enabled = enabled});
  } else if (gpu.enabled != enabled) {
    plan.steps.push_back({.kind = Kind::kReset});
  }
}

}  // namespace

std::string MigStepText(const MigStep& step) {
  const std::string of = step.gpu_instance.has_value()
                             ? format("GPU instance {}", *step.gpu_instance)
                             : std::string("it");
  switch (step.kind) {
    case Kind::kDestroyCompute:
      return format("destroy compute instance {} of {}", step.compute_instance, of);
    case Kind::kDestroyInstance:
      return "destroy " + of;
    case Kind::kSetMode:
      return step.enabled ? "enable MIG" : "disable MIG";
    case Kind::kReset:
      return "reset the GPU";
    case Kind::kCreateInstance:
      return format("create GPU instance {} at {}", step.profile.name, step.start);
    case Kind::kCreateCompute:
      return format("create compute instance of {} slices in {}", step.slices, of);
  }
  return "";
}

Result<MigPlan> PlanMig(const nvml::MigGpu& gpu, const MigLayout& wanted,
                        const std::set<unsigned>& held) {
  MigPlan plan;
  if (!gpu.capable) {
    if (wanted.enabled) {
      return Fail(ErrorKind::kInvalid, GpuText(gpu) + ": MIG is not supported");
    }
    return plan;
  }
  PlanMode(gpu, wanted.enabled, plan);
  if (!wanted.enabled) {
    return plan;
  }
  if (!gpu.enabled && gpu.profiles.empty()) {
    plan.unfinished = true;
    return plan;
  }
  if (gpu.enabled && wanted.instances.empty() && !HasEmptyInstance(gpu)) {
    TRY_ASSIGN(const bool has, HasLayout(gpu, wanted, false));
    if (has) {
      for (const nvml::GpuInstance& one : gpu.instances) {
        plan.kept += static_cast<unsigned>(one.compute.size());
      }
      return plan;
    }
  }
  TRY_ASSIGN(const std::vector<MigRequest> requests, RequestsOf(gpu, wanted));
  TRY(PlanInstances(gpu, requests, held, plan));
  return plan;
}

std::set<unsigned> DestroyedBy(const MigPlan& plan) {
  std::set<unsigned> destroyed;
  for (const MigStep& step : plan.steps) {
    const bool destroys = step.kind == Kind::kDestroyCompute || step.kind == Kind::kDestroyInstance;
    if (destroys && step.gpu_instance.has_value()) {
      destroyed.insert(*step.gpu_instance);
    }
  }
  return destroyed;
}

bool ChangesMode(const MigPlan& plan) {
  return std::ranges::any_of(plan.steps, [](const MigStep& step) {
    return step.kind == Kind::kSetMode || step.kind == Kind::kReset;
  });
}

std::map<std::string, unsigned> MigDevicesOf(const nvml::MigGpu& gpu) {
  std::map<std::string, unsigned> devices;
  for (const nvml::GpuInstance& instance : gpu.instances) {
    for (const nvml::ComputeInstance& one : instance.compute) {
      MigProfile name = ParseMigProfile(ProfileOf(gpu, instance).name).value();
      name.compute = one.slices;
      ++devices[MigProfileText(name)];
    }
  }
  return devices;
}

MigLayout MigLayoutOf(const nvml::MigGpu& gpu) {
  MigLayout layout{.enabled = gpu.enabled};
  for (const nvml::GpuInstance& one : gpu.instances) {
    MigRequest request{.profile = ProfileOf(gpu, one).number, .start = one.start};
    for (const nvml::ComputeInstance& compute : one.compute) {
      request.compute.push_back(compute.slices);
    }
    std::ranges::sort(request.compute, std::greater());
    layout.instances.push_back(std::move(request));
  }
  return layout;
}

Result<bool> HasLayout(const nvml::MigGpu& gpu, const MigLayout& wanted, bool mode_only) {
  if (gpu.enabled != wanted.enabled) {
    return false;
  }
  if (mode_only || !wanted.enabled) {
    return true;
  }
  TRY_ASSIGN(const auto own, OwnNames(gpu, wanted));
  return own == MigDevicesOf(gpu);
}

}  // namespace gantry::gpu
