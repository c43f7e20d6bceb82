// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"
#include "operands/mig_manager/journal.h"

namespace gantry::mig_manager {

// A GPU and how it is to be.
struct Target {
  unsigned index = 0;  // NVML's
  std::string uuid;
  gpu::MigLayout layout;
  std::set<unsigned> held = {};  // GPU instances that are in use, and stay if the layout allows
};

// The GPUs with a wanted layout; `layouts` is in the order of the GPUs.
std::vector<Target> TargetsOf(std::span<const nvml::MigGpu> gpus,
                              std::span<const std::optional<gpu::MigLayout>> layouts);

// The same targets with their MIG modes only: instances of a GPU that has its mode stay.
std::vector<Target> ModesOf(const std::vector<Target>& targets,
                            const std::vector<nvml::MigGpu>& gpus);

// What to do for each target, in their order. kInvalid: one cannot be made; nothing is to be
// changed then.
Result<std::vector<gpu::MigPlan>> PlanAll(const std::vector<Target>& targets,
                                          const std::vector<nvml::MigGpu>& gpus);

// Whether no plan has a step.
bool AllAsWanted(std::span<const gpu::MigPlan> plans);

// For people: what each GPU keeps, and each step.
std::string PlanText(const std::vector<Target>& targets, const std::vector<gpu::MigPlan>& plans);

// One change of a node's layout: it ends in what is wanted, or in what was there before. Killed at
// any point, the next change on this node ends so for it.
class Change {
 public:
  struct Options {
    // Resets one GPU so that its pending mode is in force. Not set: it is left pending.
    std::function<Status(const nvml::MigGpu& gpu)> reset;
  };

  // Both outlive it.
  Change(const nvml::MigControl& control, const Journal& journal, Options options)
      : control_(control), journal_(journal), options_(std::move(options)) {}

  // Carries targets out, one GPU after the other; in the journal, unless all are as wanted. May be
  // called several times.
  Status To(const std::vector<Target>& targets);
  // Ends it. If `outcome` is an error, everything is as it was before when this returns; the error
  // says so if that failed too, and the next change tries it again.
  Status End(Status outcome);

 private:
  Status Begin();
  Status Make(const Target& target);
  [[nodiscard]] bool IsLeftPending(const gpu::MigPlan& plan) const;
  Status TakeSteps(const nvml::MigGpu& gpu, const gpu::MigPlan& plan);
  Status TakeStep(const nvml::MigGpu& gpu, const gpu::MigStep& step, unsigned& created);
  Status TakeBack();

  const nvml::MigControl& control_;
  const Journal& journal_;
  const Options options_;
  bool begun_ = false;
};

}  // namespace gantry::mig_manager
