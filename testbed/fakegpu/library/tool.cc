// SPDX-License-Identifier: Apache-2.0
// What the tool asks of the library beside the layout: MIG changes of a machine that the tool has
// mapped itself, by the same rules that NVML's callers meet. The answers are nvmlReturn_t.
#include <stdio.h>

#include "session.h"

using namespace fakegpu;

namespace {

// "1c.3g.40gb" is a compute instance of one slice in a GPU instance 3g.40gb; "3g.40gb" is a whole.
u32 ComputeSlicesOf(const char* text, const char*& profile) {
  unsigned slices = 0;
  int length = 0;
  bool part = sscanf(text, "%uc.%n", &slices, &length) == 1 && length > 0;
  profile = text + (part ? length : 0);
  return part ? slices : 0;
}

u32 ProfileNamed(const Gpu& gpu, const char* name) {
  for (u32 profile = 0; profile < kMigProfiles; ++profile) {
    if (HasProfile(gpu, profile) && strcmp(gpu.mig_profiles[profile].name, name) == 0) {
      return profile;
    }
  }
  return kUnknown32;
}

// A GPU instance of the profile that has room for so many slices more; a new one if there is none.
nvmlReturn_t InstanceWithRoom(Gpu& gpu, u32 profile, u32 slices, u32& id) {
  for (id = 0; slices != gpu.mig_profiles[profile].slices && id < kMaxGpuInstances; ++id) {
    const GpuInstance& one = gpu.gpu_instances[id];
    if (one.used != 0 && one.profile == profile && RemainingComputeInstances(gpu, id, slices) > 0) {
      return NVML_SUCCESS;
    }
  }
  return CreateGpuInstance(gpu, profile, kUnknown32, id);
}

}  // namespace

// Sets the mode at once; instances go, unless it is the mode already.
FAKEGPU_EXPORT nvmlReturn_t fakegpuMigMode(void* at, unsigned mode) {
  Gpu& gpu = *static_cast<Gpu*>(at);
  if (gpu.mig_capable != 1) return NVML_ERROR_NOT_SUPPORTED;
  if (gpu.mig != mode) DropInstances(gpu);
  gpu.mig = gpu.mig_pending = mode;
  return NVML_SUCCESS;
}

// Takes all instances away, whoever uses them.
FAKEGPU_EXPORT nvmlReturn_t fakegpuMigDrop(void* at) {
  DropInstances(*static_cast<Gpu*>(at));
  return NVML_SUCCESS;
}

// Makes a MIG device by its profile's name, "3g.40gb" or "1c.3g.40gb". NOT_FOUND: no such profile.
FAKEGPU_EXPORT nvmlReturn_t fakegpuMigCreate(void* at, const char* name) {
  Gpu& gpu = *static_cast<Gpu*>(at);
  if (gpu.mig_capable != 1 || gpu.mig != 1) return NVML_ERROR_NOT_SUPPORTED;
  const char* whole = nullptr;
  u32 slices = ComputeSlicesOf(name, whole), profile = ProfileNamed(gpu, whole);
  if (profile == kUnknown32) return NVML_ERROR_NOT_FOUND;
  if (slices == 0) slices = gpu.mig_profiles[profile].slices;
  if (ComputeSlices(gpu.mig_profiles[profile], ComputeProfile(slices)) == 0) {
    return NVML_ERROR_NOT_FOUND;
  }
  u32 instance = 0, id = 0;
  nvmlReturn_t no = InstanceWithRoom(gpu, profile, slices, instance);
  return no == NVML_SUCCESS ? CreateComputeInstance(gpu, instance, slices, kUnknown32, id) : no;
}

// Takes a GPU instance away with all that is in it.
FAKEGPU_EXPORT nvmlReturn_t fakegpuMigDestroy(void* at, unsigned id) {
  Gpu& gpu = *static_cast<Gpu*>(at);
  for (u32 compute = 0; id < kMaxGpuInstances && compute < kMaxComputeInstances; ++compute) {
    nvmlReturn_t no = DestroyComputeInstance(gpu, id, compute);
    if (no != NVML_SUCCESS && no != NVML_ERROR_NOT_FOUND) return no;
  }
  return DestroyGpuInstance(gpu, id);
}
