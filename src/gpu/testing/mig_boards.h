// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gpu/mig_plan.h"
#include "nvml/mig_control.h"

// GPUs that can be divided, with the profiles that their drivers report, and a driver that refuses
// what a real one does.
namespace gantry::gpu::testing {

inline nvml::GpuInstanceProfile Profile(unsigned id, std::string name, unsigned slices,
                                        unsigned count, std::vector<unsigned> engines,
                                        unsigned size, std::vector<unsigned> starts) {
  return {.number = id,  // any, if each profile has its own
          .id = id,
          .name = std::move(name),
          .slices = slices,
          .count = count,
          .decoders = engines[0],
          .jpeg_engines = engines[1],
          .ofa_engines = engines[2],
          .size = size,
          .starts = std::move(starts)};
}

inline nvml::MigGpu Board(std::string name, std::vector<nvml::GpuInstanceProfile> profiles) {
  nvml::MigGpu gpu;
  gpu.name = std::move(name);
  gpu.capable = gpu.enabled = gpu.enabled_pending = true;
  gpu.profiles = std::move(profiles);
  return gpu;
}

inline nvml::MigGpu A100() {
  return Board("A100-SXM4-40GB",
               {Profile(19, "1g.5gb", 1, 7, {0, 0, 0}, 1, {0, 1, 2, 3, 4, 5, 6}),
                Profile(14, "2g.10gb", 2, 3, {1, 0, 0}, 2, {0, 2, 4}),
                Profile(9, "3g.20gb", 3, 2, {2, 0, 0}, 4, {0, 4}),
                Profile(5, "4g.20gb", 4, 1, {2, 0, 0}, 4, {0}),
                Profile(0, "7g.40gb", 7, 1, {5, 1, 1}, 8, {0}),
                Profile(20, "1g.5gb+me", 1, 1, {1, 1, 1}, 1, {0, 1, 2, 3, 4, 5, 6}),
                Profile(15, "1g.10gb", 1, 4, {1, 0, 0}, 2, {0, 2, 4, 6})});
}

inline nvml::MigGpu H100() {
  return Board("H100 80GB HBM3",
               {Profile(19, "1g.10gb", 1, 7, {1, 1, 0}, 1, {0, 1, 2, 3, 4, 5, 6}),
                Profile(14, "2g.20gb", 2, 3, {2, 2, 0}, 2, {0, 2, 4}),
                Profile(9, "3g.40gb", 3, 2, {3, 3, 0}, 4, {0, 4}),
                Profile(5, "4g.40gb", 4, 1, {4, 4, 0}, 4, {0}),
                Profile(0, "7g.80gb", 7, 1, {7, 7, 1}, 8, {0}),
                Profile(20, "1g.10gb+me", 1, 1, {1, 1, 1}, 1, {0, 1, 2, 3, 4, 5, 6}),
                Profile(15, "1g.20gb", 1, 4, {1, 1, 0}, 2, {0, 2, 4, 6})});
}

inline nvml::MigGpu A30() {
  return Board("A30", {Profile(14, "1g.6gb", 1, 4, {0, 0, 0}, 1, {0, 1, 2, 3}),
                       Profile(5, "2g.12gb", 2, 2, {2, 0, 0}, 2, {0, 2}),
                       Profile(0, "4g.24gb", 4, 1, {4, 1, 1}, 4, {0}),
                       Profile(21, "1g.6gb+me", 1, 1, {1, 1, 1}, 1, {0, 1, 2, 3}),
                       Profile(6, "2g.12gb+me", 2, 1, {2, 1, 1}, 2, {0, 2})});
}

inline nvml::MigGpu B200() {
  return Board("B200", {Profile(19, "1g.23gb", 1, 7, {1, 1, 0}, 1, {0, 1, 2, 3, 4, 5, 6}),
                        Profile(14, "2g.45gb", 2, 3, {2, 2, 0}, 2, {0, 2, 4}),
                        Profile(9, "3g.90gb", 3, 2, {3, 3, 0}, 4, {0, 4}),
                        Profile(0, "7g.180gb", 7, 1, {7, 7, 1}, 8, {0}),
                        Profile(15, "1g.45gb", 1, 4, {1, 1, 0}, 2, {0, 2, 4, 6})});
}

inline nvml::MigGpu RtxPro6000() {
  return Board("RTX PRO 6000", {Profile(14, "1g.24gb", 1, 4, {1, 1, 0}, 1, {0, 1, 2, 3}),
                                Profile(5, "2g.48gb", 2, 2, {2, 2, 0}, 2, {0, 2}),
                                Profile(0, "4g.96gb", 4, 1, {4, 4, 1}, 4, {0}),
                                Profile(21, "1g.24gb+me", 1, 1, {1, 1, 1}, 1, {0, 1, 2, 3}),
                                Profile(47, "1g.24gb+gfx", 1, 4, {1, 1, 0}, 1, {0, 1, 2, 3}),
                                Profile(67, "1g.24gb-me", 1, 4, {0, 0, 0}, 1, {0, 1, 2, 3}),
                                Profile(65, "1g.24gb+me.all", 1, 1, {4, 4, 1}, 1, {0, 1, 2, 3})});
}

// A driver with one GPU. What a real driver refuses fails the test.
class Driver {
 public:
  explicit Driver(nvml::MigGpu gpu) : gpu_(std::move(gpu)) {}

  [[nodiscard]] const nvml::MigGpu& gpu() const { return gpu_; }

  void Do(const MigPlan& plan) {
    for (const MigStep& step : plan.steps) {
      Do(step);
    }
    std::ranges::sort(gpu_.instances, {}, &nvml::GpuInstance::start);
  }

 private:
  void Do(const MigStep& step) {
    switch (step.kind) {
      case MigStep::Kind::kDestroyCompute:
        ASSERT_EQ(std::erase_if(Find(*step.gpu_instance).compute,
                                [&](const auto& one) { return one.id == step.compute_instance; }),
                  1U);
        break;
      case MigStep::Kind::kDestroyInstance:
        ASSERT_TRUE(Find(*step.gpu_instance).compute.empty()) << "in use";
        std::erase_if(gpu_.instances,
                      [&](const auto& one) { return one.id == *step.gpu_instance; });
        break;
      case MigStep::Kind::kSetMode:
        ASSERT_TRUE(gpu_.instances.empty());
        gpu_.enabled_pending = gpu_.enabled = step.enabled;
        break;
      case MigStep::Kind::kReset:
        gpu_.enabled = gpu_.enabled_pending;
        break;
      case MigStep::Kind::kCreateInstance:
        Create(step);
        break;
      case MigStep::Kind::kCreateCompute:
        CreateCompute(Find(step.gpu_instance.value_or(last_)), step.slices);
        break;
    }
  }

  nvml::GpuInstance& Find(unsigned id) {
    const auto found = std::ranges::find(gpu_.instances, id, &nvml::GpuInstance::id);
    EXPECT_NE(found, gpu_.instances.end()) << id;
    return *found;
  }

  void Create(const MigStep& step) {
    ASSERT_TRUE(gpu_.enabled);
    ASSERT_EQ(std::ranges::count(step.profile.starts, step.start), 1);
    for (const nvml::GpuInstance& one : gpu_.instances) {
      ASSERT_TRUE(one.start + one.size <= step.start || step.start + step.profile.size <= one.start)
          << "no room";
    }
    last_ = ++ids_ + 100;
    gpu_.instances.push_back({.id = last_,
                              .profile_id = step.profile.id,
                              .start = step.start,
                              .size = step.profile.size,
                              .compute = {}});
  }

  void CreateCompute(nvml::GpuInstance& of, unsigned slices) {
    unsigned room = 0;
    for (const nvml::GpuInstanceProfile& one : gpu_.profiles) {
      room = one.id == of.profile_id ? one.slices : room;
    }
    for (const nvml::ComputeInstance& one : of.compute) {
      ASSERT_GE(room, one.slices);
      room -= one.slices;
    }
    ASSERT_GE(room, slices) << "no room";
    of.compute.push_back({.id = ++ids_, .slices = slices});
  }

  nvml::MigGpu gpu_;
  unsigned ids_ = 0;
  unsigned last_ = 0;
};

}  // namespace gantry::gpu::testing
