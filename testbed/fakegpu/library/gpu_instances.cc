// SPDX-License-Identifier: Apache-2.0
// Answers about the GPU instances that a GPU in MIG mode is divided into: which can be made, and
// those that were.
#include "mig.h"

using namespace fakegpu;

namespace {

// Answers a call about a profile of a GPU that tells its profiles now: answer(const Gpu&, profile).
template <class Answer>
nvmlReturn_t OnProfile(const char* call, nvmlDevice_t device, unsigned profile, Answer answer) {
  return OnGpu(call, device, [&](const Gpu& gpu) {
    if (profile >= kMigProfiles) return NVML_ERROR_INVALID_ARGUMENT;
    if (!TellsProfiles(gpu) || !HasProfile(gpu, profile)) return NVML_ERROR_NOT_SUPPORTED;
    return answer(gpu, gpu.mig_profiles[profile]);
  });
}

template <class Info>
void Fill(const MigProfile& from, Info& to) {
  to.id = from.id;
  to.sliceCount = from.slices;
  to.instanceCount = from.most;
  to.multiprocessorCount = from.multiprocessors;
  to.copyEngineCount = from.copy_engines;
  to.decoderCount = from.decoders;
  to.encoderCount = from.encoders;
  to.jpegCount = from.jpeg_engines;
  to.ofaCount = from.ofa_engines;
  to.memorySizeMB = from.memory;
  if constexpr (requires { to.name; }) ComputeName(from, from.slices, to.name, sizeof to.name);
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device,
                                                                unsigned profile,
                                                                nvmlGpuInstanceProfileInfo_t* out) {
  return OnProfile(__func__, device, profile, [&](const Gpu&, const MigProfile& found) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    Fill(found, *out);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(
    nvmlDevice_t device, unsigned profile, nvmlGpuInstanceProfileInfo_v2_t* out) {
  return OnProfile(__func__, device, profile, [&](const Gpu&, const MigProfile& found) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version == nvmlGpuInstanceProfileInfo_v3) {
      auto* third = reinterpret_cast<nvmlGpuInstanceProfileInfo_v3_t*>(out);
      *third = {};
      third->version = nvmlGpuInstanceProfileInfo_v3;
      Fill(found, *third);
      if (strstr(found.name, "+gfx") != nullptr) {
        third->capabilities = NVML_GPU_INSTANCE_PROFILE_CAPS_GFX;
      }
      return NVML_SUCCESS;
    }
    if (out->version != nvmlGpuInstanceProfileInfo_v2) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    out->version = nvmlGpuInstanceProfileInfo_v2;
    Fill(found, *out);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    nvmlDevice_t device, unsigned profile_id, nvmlGpuInstancePlacement_t* out, unsigned* count) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    u32 profile = ProfileOf(gpu, profile_id);
    if (!TellsProfiles(gpu) || profile == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    const MigProfile& found = gpu.mig_profiles[profile];
    *count = 0;
    for (u32 start = 0; start < gpu.mig_memory_slices; ++start) {
      if ((found.starts >> start & 1) == 0) continue;
      if (out != nullptr) out[*count] = {start, found.size};
      ++*count;
    }
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(
    nvmlDevice_t device, unsigned profile_id, nvmlGpuInstancePlacement_t* out, unsigned* count) {
  return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profile_id, out, count);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device,
                                                                      unsigned profile_id,
                                                                      unsigned* count) {
  return OnMigGpu(__func__, device, [&](const Gpu& gpu) {
    u32 profile = ProfileOf(gpu, profile_id);
    if (profile == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    return MayWatch() ? Put(count, RemainingGpuInstances(gpu, profile)) : NVML_ERROR_NO_PERMISSION;
  });
}

namespace {

nvmlReturn_t MakeInstance(const char* call, nvmlDevice_t device, unsigned profile_id, u32 start,
                          u32 size, nvmlGpuInstance_t* out) {
  return OnMigGpu(call, device, [&](const Gpu& gpu) {
    u32 profile = ProfileOf(gpu, profile_id), id = 0;
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (profile == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    if (start != kUnknown32 && size != gpu.mig_profiles[profile].size) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    nvmlReturn_t made = ChangeInstances(
        gpu, [&](Gpu& changed) { return CreateGpuInstance(changed, profile, start, id); });
    if (made == NVML_SUCCESS) *out = InstanceHandle(PositionOf(device), id);
    return made;
  });
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned profile_id,
                                                        nvmlGpuInstance_t* out) {
  return MakeInstance(__func__, device, profile_id, kUnknown32, 0, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(
    nvmlDevice_t device, unsigned profile_id, const nvmlGpuInstancePlacement_t* placement,
    nvmlGpuInstance_t* out) {
  if (placement == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return MakeInstance(__func__, device, profile_id, placement->start, placement->size, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t, const Gpu& gpu, u32 id) {
    return ChangeInstances(gpu, [&](Gpu& changed) { return DestroyGpuInstance(changed, id); });
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned profile_id,
                                                      nvmlGpuInstance_t* out, unsigned* count) {
  return OnMigGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    u32 profile = ProfileOf(gpu, profile_id);
    if (profile == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    *count = 0;
    for (u32 id = 0; id < kMaxGpuInstances; ++id) {
      const GpuInstance& one = gpu.gpu_instances[id];
      if (one.used == 0 || one.profile != profile) continue;
      out[(*count)++] = InstanceHandle(PositionOf(device), id);
    }
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned id,
                                                         nvmlGpuInstance_t* out) {
  return OnMigGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    if (id >= kMaxGpuInstances || gpu.gpu_instances[id].used == 0) return NVML_ERROR_NOT_FOUND;
    *out = InstanceHandle(PositionOf(device), id);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance,
                                                   nvmlGpuInstanceInfo_t* out) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t device, const Gpu& gpu, u32 id) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const GpuInstance& found = gpu.gpu_instances[id];
    const MigProfile& profile = ProfileOf(gpu, found);
    *out = {device, id, profile.id, {found.start, profile.size}};
    return NVML_SUCCESS;
  });
}
