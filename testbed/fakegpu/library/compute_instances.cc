// SPDX-License-Identifier: Apache-2.0
// Answers about the compute instances that share a GPU instance: its memory and engines are theirs
// together, its multiprocessors are divided.
#include "mig.h"

using namespace fakegpu;

namespace {

// Answers a call about a profile of compute instances: answer(const Gpu&, of, slices).
template <class Answer>
nvmlReturn_t OnComputeProfile(const char* call, nvmlGpuInstance_t instance, unsigned profile,
                              unsigned engines, Answer answer) {
  return OnInstance(call, instance, [&](nvmlDevice_t, const Gpu& gpu, u32 id) {
    if (profile >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT ||
        engines >= NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    const MigProfile& of = ProfileOf(gpu, gpu.gpu_instances[id]);
    u32 slices = ComputeSlices(of, profile);
    return slices == 0 ? NVML_ERROR_NOT_SUPPORTED : answer(gpu, of, slices);
  });
}

template <class Info>
void Fill(const Gpu& gpu, const MigProfile& of, u32 slices, Info& to) {
  to.id = ComputeProfile(slices);
  to.sliceCount = slices;
  to.instanceCount = of.slices / slices;
  to.multiprocessorCount = ComputeMultiprocessors(gpu, of, slices);
  to.sharedCopyEngineCount = of.copy_engines;
  to.sharedDecoderCount = of.decoders;
  to.sharedEncoderCount = of.encoders;
  to.sharedJpegCount = of.jpeg_engines;
  to.sharedOfaCount = of.ofa_engines;
  if constexpr (requires { to.name; }) ComputeName(of, slices, to.name, sizeof to.name);
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(
    nvmlGpuInstance_t instance, unsigned profile, unsigned engines,
    nvmlComputeInstanceProfileInfo_t* out) {
  return OnComputeProfile(__func__, instance, profile, engines,
                          [&](const Gpu& gpu, const MigProfile& of, u32 slices) {
                            if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
                            *out = {};
                            Fill(gpu, of, slices, *out);
                            return NVML_SUCCESS;
                          });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t instance, unsigned profile, unsigned engines,
    nvmlComputeInstanceProfileInfo_v2_t* out) {
  return OnComputeProfile(
      __func__, instance, profile, engines, [&](const Gpu& gpu, const MigProfile& of, u32 slices) {
        if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        if (out->version == nvmlComputeInstanceProfileInfo_v3) {
          auto* third = reinterpret_cast<nvmlComputeInstanceProfileInfo_v3_t*>(out);
          *third = {};
          third->version = nvmlComputeInstanceProfileInfo_v3;
          Fill(gpu, of, slices, *third);
          return NVML_SUCCESS;
        }
        if (out->version != nvmlComputeInstanceProfileInfo_v2) return NVML_ERROR_INVALID_ARGUMENT;
        *out = {};
        out->version = nvmlComputeInstanceProfileInfo_v2;
        Fill(gpu, of, slices, *out);
        return NVML_SUCCESS;
      });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(
    nvmlGpuInstance_t instance, unsigned profile_id, unsigned* count) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t, const Gpu& gpu, u32 id) {
    u32 slices = ComputeSlices(ProfileOf(gpu, gpu.gpu_instances[id]), profile_id);
    if (slices == 0) return NVML_ERROR_NOT_SUPPORTED;
    return MayWatch() ? Put(count, RemainingComputeInstances(gpu, id, slices))
                      : NVML_ERROR_NO_PERMISSION;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t instance, unsigned profile_id, nvmlComputeInstancePlacement_t* out,
    unsigned* count) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t, const Gpu& gpu, u32 id) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const MigProfile& of = ProfileOf(gpu, gpu.gpu_instances[id]);
    u32 slices = ComputeSlices(of, profile_id);
    if (slices == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    *count = 0;
    for (u32 start = 0; start < of.slices; ++start) {
      if (!MayBegin(of, {start, slices})) continue;
      if (out != nullptr) out[*count] = {start, slices};
      ++*count;
    }
    return NVML_SUCCESS;
  });
}

namespace {

nvmlReturn_t MakeCompute(const char* call, nvmlGpuInstance_t instance, unsigned profile_id,
                         u32 start, u32 size, nvmlComputeInstance_t* out) {
  return OnInstance(call, instance, [&](nvmlDevice_t device, const Gpu& gpu, u32 id) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    u32 slices = ComputeSlices(ProfileOf(gpu, gpu.gpu_instances[id]), profile_id), made = 0;
    if (slices == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (start != kUnknown32 && size != slices) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = ChangeInstances(
        gpu, [&](Gpu& changed) { return CreateComputeInstance(changed, id, slices, start, made); });
    if (result == NVML_SUCCESS) *out = ComputeHandle(PositionOf(device), id, made);
    return result;
  });
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance,
                                                                 unsigned profile_id,
                                                                 nvmlComputeInstance_t* out) {
  return MakeCompute(__func__, instance, profile_id, kUnknown32, 0, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t instance, unsigned profile_id,
    const nvmlComputeInstancePlacement_t* placement, nvmlComputeInstance_t* out) {
  if (placement == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return MakeCompute(__func__, instance, profile_id, placement->start, placement->size, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t instance) {
  return OnCompute(__func__, instance, [&](nvmlDevice_t, const Gpu& gpu, u32 owner, u32 id) {
    return ChangeInstances(
        gpu, [&](Gpu& changed) { return DestroyComputeInstance(changed, owner, id); });
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance,
                                                               unsigned profile_id,
                                                               nvmlComputeInstance_t* out,
                                                               unsigned* count) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t device, const Gpu& gpu, u32 id) {
    if (out == nullptr || count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    u32 slices = ComputeSlices(ProfileOf(gpu, gpu.gpu_instances[id]), profile_id);
    if (slices == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    *count = 0;
    for (u32 compute = 0; compute < kMaxComputeInstances; ++compute) {
      if (ComputeInstanceOf(gpu, id, compute).slices != slices) continue;
      out[(*count)++] = ComputeHandle(PositionOf(device), id, compute);
    }
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance,
                                                                  unsigned compute,
                                                                  nvmlComputeInstance_t* out) {
  return OnInstance(__func__, instance, [&](nvmlDevice_t device, const Gpu& gpu, u32 id) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (!MayWatch()) return NVML_ERROR_NO_PERMISSION;
    if (compute >= kMaxComputeInstances || ComputeInstanceOf(gpu, id, compute).slices == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    *out = ComputeHandle(PositionOf(device), id, compute);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t instance,
                                                          nvmlComputeInstanceInfo_t* out) {
  return OnCompute(__func__, instance, [&](nvmlDevice_t device, const Gpu& gpu, u32 owner, u32 id) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const ComputeInstance& found = ComputeInstanceOf(gpu, owner, id);
    *out = {device,
            InstanceHandle(PositionOf(device), owner),
            id,
            ComputeProfile(found.slices),
            {found.start, found.slices}};
    return NVML_SUCCESS;
  });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t instance,
                                                       nvmlComputeInstanceInfo_t* out) {
  return nvmlComputeInstanceGetInfo_v2(instance, out);
}
