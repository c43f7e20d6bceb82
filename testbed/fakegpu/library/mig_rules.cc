// SPDX-License-Identifier: Apache-2.0
// Which MIG instances fit on a GPU? Decided from the machine alone.
//
// A GPU instance takes a run of memory slices that may begin only at certain of them; two must not
// overlap, and together they must not want more engines than there are. Numbers are those of a
// binary tree over the slices, as the driver has them: 0 is the whole, 1 and 2 its halves, 3 to 6
// the quarters, 7 to 14 the eighths. Without a wanted place the driver takes the one that leaves
// the others most freedom: a 3g goes to the half where no 4g could go.
#include "mig_rules.h"

#include <stdio.h>

namespace fakegpu {
namespace {

constexpr u32 kComputeSizes[] = {1, 2, 3, 4, 7, 8, 6};  // by NVML_COMPUTE_INSTANCE_PROFILE_*

constexpr u32 Mask(u32 start, u32 size) { return ((1U << size) - 1) << start; }

u32 Taken(const Gpu& gpu) {
  u32 taken = 0;
  for (const GpuInstance& one : gpu.gpu_instances) {
    if (one.used != 0) taken |= Mask(one.start, ProfileOf(gpu, one).size);
  }
  return taken;
}

u32 CountOf(const Gpu& gpu, u32 profile) {
  u32 count = 0;
  for (const GpuInstance& one : gpu.gpu_instances) {
    count += one.used != 0 && one.profile == profile ? 1 : 0;
  }
  return count;
}

// How many more of the profile the engines suffice for. The largest profile has them all.
template <class EngineOf>
u32 EnoughFor(const Gpu& gpu, u32 profile, EngineOf engine) {
  u32 wanted = engine(gpu.mig_profiles[profile]), all = 0, taken = 0;
  if (wanted == 0) return kMaxGpuInstances;
  for (const MigProfile& one : gpu.mig_profiles) all = engine(one) > all ? engine(one) : all;
  for (const GpuInstance& one : gpu.gpu_instances) {
    if (one.used != 0) taken += engine(ProfileOf(gpu, one));
  }
  return taken >= all ? 0 : (all - taken) / wanted;
}

u32 Least(u32 a, u32 b) { return a < b ? a : b; }

u32 MostNow(const Gpu& gpu, u32 profile) {
  u32 most =
      gpu.mig_profiles[profile].most - Least(CountOf(gpu, profile), gpu.mig_profiles[profile].most);
  most = Least(most, EnoughFor(gpu, profile, [](const MigProfile& one) { return one.decoders; }));
  most =
      Least(most, EnoughFor(gpu, profile, [](const MigProfile& one) { return one.jpeg_engines; }));
  return Least(most,
               EnoughFor(gpu, profile, [](const MigProfile& one) { return one.ofa_engines; }));
}

bool StartsAt(const MigProfile& profile, u32 start) {
  return start < 32 && (profile.starts >> start & 1) != 0;
}

// Places of any profile that are free when `taken` is.
u32 Freedom(const Gpu& gpu, u32 taken) {
  u32 places = 0;
  for (const MigProfile& one : gpu.mig_profiles) {
    for (u32 start = 0; one.slices != 0 && start < gpu.mig_memory_slices; ++start) {
      places += StartsAt(one, start) && (taken & Mask(start, one.size)) == 0 ? 1 : 0;
    }
  }
  return places;
}

u32 BestStart(const Gpu& gpu, u32 profile) {
  const MigProfile& wanted = gpu.mig_profiles[profile];
  u32 taken = Taken(gpu), best = kUnknown32, most = 0;
  for (u32 start = 0; start < gpu.mig_memory_slices; ++start) {
    u32 mask = Mask(start, wanted.size);
    if (!StartsAt(wanted, start) || (taken & mask) != 0) continue;
    u32 freedom = Freedom(gpu, taken | mask);
    if (best != kUnknown32 && freedom <= most) continue;
    best = start;
    most = freedom;
  }
  return best;
}

u32 IdAt(const Gpu& gpu, u32 start, u32 size) {
  return gpu.mig_memory_slices / size - 1 + start / size;
}

u32 ComputeTaken(const Gpu& gpu, u32 gpu_instance) {
  u32 taken = 0;
  for (u32 id = 0; id < kMaxComputeInstances; ++id) {
    const ComputeInstance& one = ComputeInstanceOf(gpu, gpu_instance, id);
    if (one.slices != 0) taken |= Mask(one.start, one.slices);
  }
  return taken;
}

bool HasProcesses(const Gpu& gpu, u32 gpu_instance, u32 compute_instance) {
  for (u32 i = 0; i < gpu.process_count && i < kMaxProcesses; ++i) {
    const Process& one = gpu.processes[i];
    if (one.gpu_instance == gpu_instance &&
        (compute_instance == kUnknown32 || one.compute_instance == compute_instance)) {
      return true;
    }
  }
  return false;
}

// Spreads a text over 64 bits (FNV-1a).
u64 Spread(const char* text, u64 hash) {
  for (; *text != '\0'; ++text) {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  }
  return hash;
}

// The same instance of the same GPU has the same UUID again, as with real drivers.
void WriteUuid(const Gpu& gpu, u32 gpu_instance, u32 id, ComputeInstance& instance) {
  char seed[80];
  snprintf(seed, sizeof seed, "%s/%u/%u/%u", gpu.uuid, gpu_instance,
           gpu.gpu_instances[gpu_instance].profile, id * 16 + instance.slices);
  u64 high = Spread(seed, 0xcbf29ce484222325), low = Spread(seed, high ^ 0x9e3779b97f4a7c15);
  snprintf(instance.uuid, sizeof instance.uuid, "MIG-%08x-%04x-5%03x-%04x-%012llx",
           static_cast<u32>(high >> 32), static_cast<u32>(high >> 16 & 0xffff),
           static_cast<u32>(high & 0xfff), static_cast<u32>(0x8000 | (low >> 48 & 0x3fff)),
           static_cast<unsigned long long>(low & 0xffffffffffff));
}

}  // namespace

u32 ProfileOf(const Gpu& gpu, u32 driver_id) {
  for (u32 profile = 0; profile < kMigProfiles; ++profile) {
    if (HasProfile(gpu, profile) && gpu.mig_profiles[profile].id == driver_id) return profile;
  }
  return kUnknown32;
}

u32 RemainingGpuInstances(const Gpu& gpu, u32 profile) {
  const MigProfile& wanted = gpu.mig_profiles[profile];
  u32 taken = Taken(gpu), room = 0;
  for (u32 start = 0; start < gpu.mig_memory_slices; ++start) {
    u32 mask = Mask(start, wanted.size);
    if (!StartsAt(wanted, start) || (taken & mask) != 0) continue;
    taken |= mask;
    ++room;
  }
  return Least(room, MostNow(gpu, profile));
}

nvmlReturn_t CreateGpuInstance(Gpu& gpu, u32 profile, u32 start, u32& id) {
  if (!HasProfile(gpu, profile)) return NVML_ERROR_NOT_SUPPORTED;
  const MigProfile& wanted = gpu.mig_profiles[profile];
  if (start != kUnknown32 && !StartsAt(wanted, start)) return NVML_ERROR_INVALID_ARGUMENT;
  if (MostNow(gpu, profile) == 0) return NVML_ERROR_INSUFFICIENT_RESOURCES;
  u32 at = start == kUnknown32 ? BestStart(gpu, profile) : start;
  if (at == kUnknown32 || (Taken(gpu) & Mask(at, wanted.size)) != 0) {
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
  }
  id = IdAt(gpu, at, wanted.size);
  gpu.gpu_instances[id] = {0, profile, at, 0};
  __atomic_store_n(&gpu.gpu_instances[id].used, 1, __ATOMIC_RELEASE);
  return NVML_SUCCESS;
}

nvmlReturn_t DestroyGpuInstance(Gpu& gpu, u32 id) {
  if (id >= kMaxGpuInstances || gpu.gpu_instances[id].used == 0) return NVML_ERROR_NOT_FOUND;
  if (ComputeTaken(gpu, id) != 0 || HasProcesses(gpu, id, kUnknown32)) return NVML_ERROR_IN_USE;
  __atomic_store_n(&gpu.gpu_instances[id].used, 0, __ATOMIC_RELEASE);
  return NVML_SUCCESS;
}

u32 ComputeSlices(const MigProfile& of, u32 compute_profile) {
  if (compute_profile >= sizeof kComputeSizes / sizeof *kComputeSizes) return 0;
  u32 slices = kComputeSizes[compute_profile];
  if (slices == of.slices) return slices;
  bool part = slices < of.slices && slices <= 4 && (slices != 3 || of.slices > 4);
  return part ? slices : 0;
}

u32 ComputeProfile(u32 slices) {
  for (u32 profile = 0; profile < sizeof kComputeSizes / sizeof *kComputeSizes; ++profile) {
    if (kComputeSizes[profile] == slices) return profile;
  }
  return kUnknown32;
}

void ComputeName(const MigProfile& of, u32 slices, char* out, size_t room) {
  if (slices == of.slices) {
    snprintf(out, room, "MIG %s", of.name);
  } else {
    snprintf(out, room, "MIG %uc.%s", slices, of.name);
  }
}

u32 ComputeMultiprocessors(const Gpu& gpu, const MigProfile& of, u32 slices) {
  if (slices == of.slices) return of.multiprocessors;
  return slices * gpu.mig_profiles[NVML_GPU_INSTANCE_PROFILE_1_SLICE].multiprocessors;
}

bool MayBegin(const MigProfile& of, Slices compute) {
  u32 step = compute.size <= 2 ? compute.size : 4;  // 1c anywhere, 2c at pairs, larger at halves
  return compute.start % step == 0 && compute.start + compute.size <= of.slices;
}

u32 RemainingComputeInstances(const Gpu& gpu, u32 gpu_instance, u32 slices) {
  const MigProfile& of = ProfileOf(gpu, gpu.gpu_instances[gpu_instance]);
  u32 taken = ComputeTaken(gpu, gpu_instance), room = 0;
  for (u32 start = 0; start < of.slices; ++start) {
    u32 mask = Mask(start, slices);
    if (!MayBegin(of, {start, slices}) || (taken & mask) != 0) continue;
    taken |= mask;
    ++room;
  }
  return room;
}

nvmlReturn_t CreateComputeInstance(Gpu& gpu, u32 gpu_instance, u32 slices, u32 start, u32& id) {
  const MigProfile& of = ProfileOf(gpu, gpu.gpu_instances[gpu_instance]);
  u32 taken = ComputeTaken(gpu, gpu_instance), at = start;
  if (start != kUnknown32 && !MayBegin(of, {start, slices})) return NVML_ERROR_INVALID_ARGUMENT;
  for (u32 one = 0; at == kUnknown32 && one < of.slices; ++one) {
    if (MayBegin(of, {one, slices}) && (taken & Mask(one, slices)) == 0) at = one;
  }
  if (at == kUnknown32 || (taken & Mask(at, slices)) != 0) return NVML_ERROR_INSUFFICIENT_RESOURCES;
  for (id = 0; ComputeInstanceOf(gpu, gpu_instance, id).slices != 0; ++id) {
  }
  ComputeInstance made{slices, at, {}};
  WriteUuid(gpu, gpu_instance, id, made);
  ComputeInstance& slot = ComputeInstanceOf(gpu, gpu_instance, id);
  slot = {0, made.start, {}};
  __builtin_memcpy(slot.uuid, made.uuid, sizeof slot.uuid);
  __atomic_store_n(&slot.slices, slices, __ATOMIC_RELEASE);
  return NVML_SUCCESS;
}

nvmlReturn_t DestroyComputeInstance(Gpu& gpu, u32 gpu_instance, u32 id) {
  ComputeInstance& instance = ComputeInstanceOf(gpu, gpu_instance, id);
  if (instance.slices == 0) return NVML_ERROR_NOT_FOUND;
  if (HasProcesses(gpu, gpu_instance, id)) return NVML_ERROR_IN_USE;
  __atomic_store_n(&instance.slices, 0, __ATOMIC_RELEASE);
  return NVML_SUCCESS;
}

void DropInstances(Gpu& gpu) {
  for (ComputeInstance& one : gpu.compute_instances) one.slices = 0;
  for (GpuInstance& one : gpu.gpu_instances) one.used = 0;
}

}  // namespace fakegpu
