// SPDX-License-Identifier: Apache-2.0
// How are the GPUs of a node brought from one layout to another, so that a crash, or a step that
// fails, leaves either of the two? The steps come from what the driver reports, not from what was
// done, so that a change that was cut off is finished, or taken back, by planning again.
#include "operands/mig_manager/change.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "operands/mig_manager/checkpoint.h"

namespace gantry::mig_manager {
namespace {

using Kind = gpu::MigStep::Kind;

// Mode, reset, profiles that are known only then, instances.
constexpr int kMostRounds = 6;

const nvml::MigGpu* Find(const std::vector<nvml::MigGpu>& gpus, const std::string& uuid) {
  const auto found = std::ranges::find(gpus, uuid, &nvml::MigGpu::uuid);
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Target> TargetsOf(std::span<const nvml::MigGpu> gpus,
                              std::span<const std::optional<gpu::MigLayout>> layouts) {
  std::vector<Target> targets;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (const std::optional<gpu::MigLayout>& layout = layouts[i]; layout.has_value()) {
      targets.push_back({.index = gpus[i].index, .uuid = gpus[i].uuid, .layout = *layout});
    }
  }
  return targets;
}

std::vector<Target> ModesOf(const std::vector<Target>& targets,
                            const std::vector<nvml::MigGpu>& gpus) {
  std::vector<Target> modes;
  for (const Target& target : targets) {
    const nvml::MigGpu* gpu = Find(gpus, target.uuid);
    const bool has = gpu != nullptr && gpu->enabled == target.layout.enabled;
    modes.push_back({.index = target.index,
                     .uuid = target.uuid,
                     .layout = has ? gpu::MigLayoutOf(*gpu)
                                   : gpu::MigLayout{.enabled = target.layout.enabled}});
  }
  return modes;
}

Result<std::vector<gpu::MigPlan>> PlanAll(const std::vector<Target>& targets,
                                          const std::vector<nvml::MigGpu>& gpus) {
  std::vector<gpu::MigPlan> plans;
  for (const Target& target : targets) {
    const nvml::MigGpu* gpu = Find(gpus, target.uuid);
    if (gpu == nullptr) {
      return Fail(ErrorKind::kNotFound, format("GPU {}: no such GPU on this node", target.uuid));
    }
    TRY_ASSIGN(plans.emplace_back(), gpu::PlanMig(*gpu, target.layout, target.held));
  }
  return plans;
}

bool AllAsWanted(std::span<const gpu::MigPlan> plans) {
  return std::ranges::all_of(plans, [](const gpu::MigPlan& plan) { return plan.steps.empty(); });
}

std::string PlanText(const std::vector<Target>& targets, const std::vector<gpu::MigPlan>& plans) {
  std::string text;
  for (size_t i = 0; i < targets.size(); ++i) {
    text += format("GPU {} ({}): {}, {} MIG devices stay\n", targets[i].index, targets[i].uuid,
                   plans[i].steps.empty() ? "as wanted" : "changes", plans[i].kept);
    for (const gpu::MigStep& step : plans[i].steps) {
      text += format("  {}\n", gpu::MigStepText(step));
    }
    if (plans[i].unfinished) {
      text += "  create the instances, which the driver reports only while MIG is enabled\n";
    }
  }
  return text;
}

Status Change::Begin() {
  if (std::exchange(begun_, true)) {
    return {};
  }
  TRY_ASSIGN(const auto before, journal_.Before());
  if (before.has_value()) {
    log::Info("a change of the MIG layout was cut off; finishing it");
    return {};
  }
  TRY_ASSIGN(const auto gpus, control_.Read());
  return journal_.Begin(CheckpointOf(gpus));
}

Status Change::To(const std::vector<Target>& targets) {
  TRY_ASSIGN(const auto gpus, control_.Read());
  TRY_ASSIGN(const auto plans, PlanAll(targets, gpus));
  if (AllAsWanted(plans)) {
    return {};
  }
  TRY(Begin());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!plans[i].steps.empty()) {
      TRY(Make(targets[i]));
    }
  }
  return {};
}

// Whether the mode has been asked for and its reset is another's.
bool Change::IsLeftPending(const gpu::MigPlan& plan) const {
  return options_.reset == nullptr && std::ranges::any_of(plan.steps, [](const gpu::MigStep& step) {
           return step.kind == Kind::kReset;
         });
}

// Plans and acts until nothing is left to do: what follows a change of mode depends on how the
// driver took it.
Status Change::Make(const Target& target) {
  for (int round = 0; round < kMostRounds; ++round) {
    TRY_ASSIGN(const nvml::MigGpu gpu, control_.ReadGpu(target.index));
    TRY_ASSIGN(const gpu::MigPlan plan, gpu::PlanMig(gpu, target.layout, target.held));
    if (plan.steps.empty()) {
      return {};
    }
    if (IsLeftPending(plan)) {
      log::Warning("GPU {}: MIG mode is pending until the GPU is reset", gpu.index);
      return {};
    }
    TRY(TakeSteps(gpu, plan));
  }
  return Fail(ErrorKind::kUnavailable,
              format("GPU {}: the driver does not keep what was changed", target.index));
}

// Up to a change of the mode: after it the GPU is read again.
Status Change::TakeSteps(const nvml::MigGpu& gpu, const gpu::MigPlan& plan) {
  unsigned created = 0;
  for (const gpu::MigStep& step : plan.steps) {
    log::Info("GPU {}: {}", gpu.index, gpu::MigStepText(step));
    if (const Status taken = TakeStep(gpu, step, created); !taken.has_value()) {
      return std::unexpected(
          taken.error().In(format("GPU {}: {}", gpu.index, gpu::MigStepText(step))));
    }
    if (step.kind == Kind::kSetMode || step.kind == Kind::kReset) {
      return {};
    }
  }
  return {};
}

Status Change::TakeStep(const nvml::MigGpu& gpu, const gpu::MigStep& step, unsigned& created) {
  switch (step.kind) {
    case Kind::kDestroyCompute:
      return control_.DestroyComputeInstance(gpu.uuid, step.gpu_instance.value_or(created),
                                             step.compute_instance);
    case Kind::kDestroyInstance:
      return control_.DestroyGpuInstance(gpu.uuid, step.gpu_instance.value_or(created));
    case Kind::kSetMode:
      return control_.SetMode(gpu.uuid, step.enabled);
    case Kind::kReset:
      return options_.reset(gpu);
    case Kind::kCreateInstance: {
      TRY_ASSIGN(created, control_.CreateGpuInstance(gpu.uuid, step.profile, step.start));
      return {};
    }
    case Kind::kCreateCompute: {
      TRY(control_.CreateComputeInstance(gpu.uuid, step.gpu_instance.value_or(created),
                                         step.slices));
      return {};
    }
  }
  return {};
}

Status Change::TakeBack() {
  TRY_ASSIGN(const auto before, journal_.Before());
  if (!before.has_value()) {
    return {};
  }
  TRY_ASSIGN(const auto layouts, LayoutsIn(*before));
  TRY_ASSIGN(const auto gpus, control_.Read());
  Status outcome;
  for (const auto& [uuid, layout] : layouts) {
    const nvml::MigGpu* gpu = Find(gpus, uuid);
    const Status made =
        gpu == nullptr ? Status() : Make({.index = gpu->index, .uuid = uuid, .layout = layout});
    if (!made.has_value() && outcome.has_value()) {
      outcome = made;
    }
  }
  return outcome;
}

Status Change::End(Status outcome) {
  if (!begun_) {
    // A change that was cut off after its last step, or one that was taken back.
    TRY_ASSIGN(const auto before, journal_.Before());
    if (!before.has_value()) {
      return outcome;
    }
  }
  if (outcome.has_value()) {
    return journal_.End();
  }
  if (const Status back = TakeBack(); !back.has_value()) {
    return Fail(outcome.error().kind, format("{}; the earlier layout could not be restored: {}",
                                             outcome.error().message, back.error().message));
  }
  TRY(journal_.End());
  return Fail(outcome.error().kind,
              format("{}; the earlier layout is restored", outcome.error().message));
}

}  // namespace gantry::mig_manager
