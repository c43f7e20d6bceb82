// SPDX-License-Identifier: Apache-2.0
// What a GPU allows of MIG: which instances still fit, where they go, how they are numbered.
#pragma once
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "state.h"

namespace fakegpu {

// Slices that an instance takes: of memory for GPU instances, of its GPU instance's for compute
// instances.
struct Slices {
  u32 start;
  u32 size;
};

inline bool HasProfile(const Gpu& gpu, u32 profile) {
  return profile < kMigProfiles && gpu.mig_profiles[profile].slices != 0;
}
// NVML_GPU_INSTANCE_PROFILE_* of the driver's id; kUnknown32 if the GPU has none such.
u32 ProfileOf(const Gpu& gpu, u32 driver_id);
inline const MigProfile& ProfileOf(const Gpu& gpu, const GpuInstance& instance) {
  return gpu.mig_profiles[instance.profile];
}

// How many more of the profile could be made now.
u32 RemainingGpuInstances(const Gpu& gpu, u32 profile);
// Makes one at `start`, or where it leaves most room for others if that is kUnknown32.
// INSUFFICIENT_RESOURCES if it does not fit, INVALID_ARGUMENT if it may not begin there.
nvmlReturn_t CreateGpuInstance(Gpu& gpu, u32 profile, u32 start, u32& id);
// IN_USE while it has compute instances or processes.
nvmlReturn_t DestroyGpuInstance(Gpu& gpu, u32 id);

// Compute instances: a profile is a number of slices. 0 for an NVML_COMPUTE_INSTANCE_PROFILE_* that
// a GPU instance of this size does not have.
u32 ComputeSlices(const MigProfile& of, u32 compute_profile);
// NVML_COMPUTE_INSTANCE_PROFILE_* of a number of slices; these are the driver's ids too.
u32 ComputeProfile(u32 slices);
// "MIG 1g.10gb", or "MIG 1c.3g.40gb" of a part of its GPU instance.
void ComputeName(const MigProfile& of, u32 slices, char* out, size_t room);
u32 ComputeMultiprocessors(const Gpu& gpu, const MigProfile& of, u32 slices);
// Whether one of so many slices may begin there.
bool MayBegin(const MigProfile& of, Slices compute);
u32 RemainingComputeInstances(const Gpu& gpu, u32 gpu_instance, u32 slices);
nvmlReturn_t CreateComputeInstance(Gpu& gpu, u32 gpu_instance, u32 slices, u32 start, u32& id);
nvmlReturn_t DestroyComputeInstance(Gpu& gpu, u32 gpu_instance, u32 id);

// Takes all instances away, as a change of mode or a reset does.
void DropInstances(Gpu& gpu);

inline ComputeInstance& ComputeInstanceOf(Gpu& gpu, u32 gpu_instance, u32 id) {
  return gpu.compute_instances[gpu_instance * kMaxComputeInstances + id];
}
inline const ComputeInstance& ComputeInstanceOf(const Gpu& gpu, u32 gpu_instance, u32 id) {
  return gpu.compute_instances[gpu_instance * kMaxComputeInstances + id];
}

// Number of the character device that opens an instance (/dev/nvidia-caps/nvidia-cap<number>); each
// GPU has a block of its own, by its minor. 1 and 2 are the right to configure and to watch MIG.
constexpr u32 kCapConfig = 1;
constexpr u32 kCapMonitor = 2;
constexpr u32 kCapsOfGpuInstance = 1 + kMaxComputeInstances;
constexpr u32 CapOfGpuInstance(u32 gpu_minor, u32 id) {
  return 3 + (gpu_minor * kMaxGpuInstances + id) * kCapsOfGpuInstance;
}
constexpr u32 CapOfComputeInstance(u32 gpu_minor, u32 gpu_instance, u32 id) {
  return CapOfGpuInstance(gpu_minor, gpu_instance) + 1 + id;
}

}  // namespace fakegpu
