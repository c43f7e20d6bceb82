// SPDX-License-Identifier: Apache-2.0
// How is a GPU divided by MIG, how could it be, and how is that changed? One function here is one
// change of the driver's state; which changes in which order is decided elsewhere (gpu/mig_plan).
#include "nvml/mig_control.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "nvml/errors.h"
#include "nvml/mig_profile.h"
#include "nvml/processes.h"

namespace gantry::nvml {
namespace {

constexpr unsigned kMaxInstanceProfiles =
    64;  // the library says INVALID_ARGUMENT after its last one
constexpr unsigned kMaxComputeProfiles = 16;  // the same
constexpr unsigned kKnownProfiles = 18;       // of which MigSuffix knows the attributes

struct ComputeProfile {
  unsigned id = 0;
  unsigned slices = 0;
};

// INVALID_ARGUMENT past the last profile; NOT_SUPPORTED if the GPU has none of this number.
nvmlReturn_t ReadProfileInfo(const Symbols& symbols, nvmlDevice_t gpu, unsigned number,
                             nvmlGpuInstanceProfileInfo_v2_t& info) {
  info = {};
  info.version = nvmlGpuInstanceProfileInfo_v2;
  const nvmlReturn_t code = Call(symbols.nvmlDeviceGetGpuInstanceProfileInfoV, gpu, number, &info);
  if (code != NVML_ERROR_FUNCTION_NOT_FOUND) {
    return code;
  }
  nvmlGpuInstanceProfileInfo_t first{};
  const nvmlReturn_t first_code =
      Call(symbols.nvmlDeviceGetGpuInstanceProfileInfo, gpu, number, &first);
  info.id = first.id;
  info.sliceCount = first.sliceCount;
  info.instanceCount = first.instanceCount;
  info.decoderCount = first.decoderCount;
  info.jpegCount = first.jpegCount;
  info.ofaCount = first.ofaCount;
  info.memorySizeMB = first.memorySizeMB;
  return first_code;
}

Status ReadPlacements(const Symbols& symbols, nvmlDevice_t gpu, GpuInstanceProfile& profile) {
  unsigned count = 0;
  nvmlReturn_t code = Call(symbols.nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu, profile.id,
                           static_cast<nvmlGpuInstancePlacement_t*>(nullptr), &count);
  std::vector<nvmlGpuInstancePlacement_t> placements(count);
  if (code == NVML_SUCCESS && count > 0) {
    code = Call(symbols.nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu, profile.id,
                placements.data(), &count);
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetGpuInstancePossiblePlacements", profile.name, code);
  }
  placements.resize(count);
  for (const nvmlGpuInstancePlacement_t& one : placements) {
    profile.size = one.size;
    profile.starts.push_back(one.start);
  }
  std::ranges::sort(profile.starts);
  return {};
}

Result<std::vector<GpuInstanceProfile>> ReadInstanceProfiles(const Symbols& symbols,
                                                             nvmlDevice_t gpu,
                                                             uint64_t memory_bytes) {
  std::vector<GpuInstanceProfile> profiles;
  for (unsigned number = 0; number < kMaxInstanceProfiles; ++number) {
    nvmlGpuInstanceProfileInfo_v2_t info{};
    const nvmlReturn_t code = ReadProfileInfo(symbols, gpu, number, info);
    if (code == NVML_ERROR_INVALID_ARGUMENT) {
      break;
    }
    if (KindOf(code) == ErrorKind::kUnsupported) {
      continue;
    }
    if (code != NVML_SUCCESS) {
      return FailNvml("nvmlDeviceGetGpuInstanceProfileInfo", format("profile {}", number), code);
    }
    const std::string suffix =
        number < kKnownProfiles ? std::string(MigSuffix(number)) : MigSuffixOfName(info.name);
    GpuInstanceProfile profile{.number = number,
                               .id = info.id,
                               .name = MigProfileName({.gpu_slices = info.sliceCount,
                                                       .compute_slices = info.sliceCount,
                                                       .memory_mib = info.memorySizeMB},
                                                      memory_bytes, suffix),
                               .slices = info.sliceCount,
                               .count = info.instanceCount,
                               .decoders = info.decoderCount,
                               .jpeg_engines = info.jpegCount,
                               .ofa_engines = info.ofaCount};
    TRY(ReadPlacements(symbols, gpu, profile));
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

// Several numbers may have one size; the first is the plain one.
std::vector<ComputeProfile> ReadComputeProfiles(const Symbols& symbols,
                                                nvmlGpuInstance_t instance) {
  std::vector<ComputeProfile> profiles;
  for (unsigned number = 0; number < kMaxComputeProfiles; ++number) {
    nvmlComputeInstanceProfileInfo_t info{};
    if (Call(symbols.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, number,
             static_cast<unsigned>(NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED),
             &info) == NVML_SUCCESS) {
      profiles.push_back({info.id, info.sliceCount});
    }
  }
  return profiles;
}

Status ReadComputeInstances(const Symbols& symbols, nvmlGpuInstance_t handle,
                            GpuInstance& instance) {
  constexpr unsigned kMost = 8;  // compute slices of the largest GPU instance
  for (const ComputeProfile& profile : ReadComputeProfiles(symbols, handle)) {
    std::array<nvmlComputeInstance_t, kMost> found{};
    unsigned count = kMost;
    nvmlReturn_t code =
        Call(symbols.nvmlGpuInstanceGetComputeInstances, handle, profile.id, found.data(), &count);
    for (unsigned i = 0; code == NVML_SUCCESS && i < count; ++i) {
      nvmlComputeInstanceInfo_t info{};
      code = Call(symbols.nvmlComputeInstanceGetInfo_v2, found.at(i), &info);
      instance.compute.push_back({.id = info.id, .slices = profile.slices});
    }
    if (code != NVML_SUCCESS) {
      return FailNvml("nvmlGpuInstanceGetComputeInstances",
                      format("of GPU instance {}", instance.id), code);
    }
  }
  std::ranges::sort(instance.compute, {}, &ComputeInstance::id);
  return {};
}

Status ReadInstances(const Symbols& symbols, nvmlDevice_t gpu, MigGpu& to) {
  for (const GpuInstanceProfile& profile : to.profiles) {
    std::vector<nvmlGpuInstance_t> found(profile.count);
    unsigned count = profile.count;
    nvmlReturn_t code =
        Call(symbols.nvmlDeviceGetGpuInstances, gpu, profile.id, found.data(), &count);
    for (unsigned i = 0; code == NVML_SUCCESS && i < count; ++i) {
      nvmlGpuInstanceInfo_t info{};
      code = Call(symbols.nvmlGpuInstanceGetInfo, found.at(i), &info);
      if (code == NVML_SUCCESS) {
        GpuInstance instance{.id = info.id,
                             .profile_id = info.profileId,
                             .start = info.placement.start,
                             .size = info.placement.size};
        TRY(ReadComputeInstances(symbols, found.at(i), instance));
        to.instances.push_back(std::move(instance));
      }
    }
    if (code != NVML_SUCCESS) {
      return FailNvml("nvmlDeviceGetGpuInstances", format("of profile {}", profile.name), code);
    }
  }
  std::ranges::sort(to.instances, {},
                    [](const GpuInstance& one) { return std::pair(one.start, one.id); });
  return {};
}

Status ReadMigIdentity(const Symbols& symbols, nvmlDevice_t gpu, MigGpu& to) {
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
  nvmlReturn_t code =
      Call(symbols.nvmlDeviceGetUUID, gpu, uuid.data(), static_cast<unsigned>(uuid.size()));
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetUUID", "", code);
  }
  to.uuid = uuid.data();
  std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
  if (Call(symbols.nvmlDeviceGetName, gpu, name.data(), static_cast<unsigned>(name.size())) ==
      NVML_SUCCESS) {
    to.name = name.data();
  }
  nvmlPciInfo_t pci{};
  code = Call(symbols.nvmlDeviceGetPciInfo_v3, gpu, &pci);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetPciInfo", "", code);
  }
  to.pci_bus_id = SysfsBusId(pci);
  to.pci_device = pci.pciDeviceId;
  to.pci_subsystem = pci.pciSubSystemId;
  return {};
}

Status ReadDivision(const Symbols& symbols, nvmlDevice_t gpu, MigGpu& to) {
  unsigned current = 0;
  unsigned pending = 0;
  const nvmlReturn_t code = Call(symbols.nvmlDeviceGetMigMode, gpu, &current, &pending);
  if (KindOf(code) == ErrorKind::kUnsupported) {
    return {};
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetMigMode", "", code);
  }
  to.capable = true;
  to.enabled = current == NVML_DEVICE_MIG_ENABLE;
  to.enabled_pending = pending == NVML_DEVICE_MIG_ENABLE;
  nvmlMemory_t memory{};
  Call(symbols.nvmlDeviceGetMemoryInfo, gpu, &memory);
  TRY_ASSIGN(to.profiles, ReadInstanceProfiles(symbols, gpu, memory.total));
  return to.enabled ? ReadInstances(symbols, gpu, to) : Status{};
}

Result<nvmlGpuInstance_t> InstanceOf(const Symbols& symbols, const std::string& uuid, unsigned id) {
  TRY_ASSIGN(const nvmlDevice_t gpu, HandleOf(symbols, uuid));
  nvmlGpuInstance_t instance = nullptr;
  const nvmlReturn_t code = Call(symbols.nvmlDeviceGetGpuInstanceById, gpu, id, &instance);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetGpuInstanceById", format("{} GPU instance {}", uuid, id), code);
  }
  return instance;
}

}  // namespace

Result<MigGpu> MigControl::ReadGpu(unsigned index) const {
  const std::string who = format("read MIG of GPU {}", index);
  nvmlDevice_t gpu = nullptr;
  const nvmlReturn_t code = Call(symbols_.nvmlDeviceGetHandleByIndex_v2, index, &gpu);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetHandleByIndex", format("GPU {}", index), code);
  }
  MigGpu to;
  to.index = index;
  if (Status read = ReadMigIdentity(symbols_, gpu, to); !read.has_value()) {
    return std::unexpected(read.error().In(who));
  }
  if (Status read = ReadDivision(symbols_, gpu, to); !read.has_value()) {
    return std::unexpected(read.error().In(who));
  }
  return to;
}

Result<std::vector<MigGpu>> MigControl::Read() const {
  unsigned count = 0;
  const nvmlReturn_t code = Call(symbols_.nvmlDeviceGetCount_v2, &count);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetCount", "", code);
  }
  std::vector<MigGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    TRY_ASSIGN(MigGpu gpu, ReadGpu(index));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<std::vector<GpuProcess>> MigControl::Processes(unsigned index) const {
  constexpr unsigned kEntireGpu = 0xffffffff;
  const std::string who = format("GPU {}", index);
  nvmlDevice_t gpu = nullptr;
  const nvmlReturn_t code = Call(symbols_.nvmlDeviceGetHandleByIndex_v2, index, &gpu);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetHandleByIndex", who, code);
  }
  const auto found = ListProcesses(symbols_, gpu, who);
  if (!found.has_value() && found.error().kind == ErrorKind::kUnsupported) {
    return std::vector<GpuProcess>();
  }
  if (!found.has_value()) {
    return std::unexpected(found.error());
  }
  std::vector<GpuProcess> processes;
  for (const nvmlProcessInfo_t& one : *found) {
    const GpuProcess process{.pid = one.pid,
                             .gpu_instance = one.gpuInstanceId == kEntireGpu
                                                 ? std::nullopt
                                                 : std::optional(one.gpuInstanceId)};
    if (std::ranges::find(processes, process) == processes.end()) {
      processes.push_back(process);
    }
  }
  return processes;
}

Status MigControl::SetMode(const std::string& uuid, bool enabled) const {
  TRY_ASSIGN(const nvmlDevice_t gpu, HandleOf(symbols_, uuid));
  nvmlReturn_t activation = NVML_SUCCESS;
  const nvmlReturn_t code =
      Call(symbols_.nvmlDeviceSetMigMode, gpu,
           static_cast<unsigned>(enabled ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE),
           &activation);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceSetMigMode", uuid, code);
  }
  // IN_USE and RESET_REQUIRED leave the mode pending, which whoever reads the GPU sees.
  return {};
}

Result<unsigned> MigControl::CreateGpuInstance(const std::string& uuid,
                                               const GpuInstanceProfile& profile,
                                               unsigned start) const {
  TRY_ASSIGN(const nvmlDevice_t gpu, HandleOf(symbols_, uuid));
  const nvmlGpuInstancePlacement_t placement{start, profile.size};
  nvmlGpuInstance_t instance = nullptr;
  nvmlGpuInstanceInfo_t info{};
  nvmlReturn_t code = Call(symbols_.nvmlDeviceCreateGpuInstanceWithPlacement, gpu, profile.id,
                           &placement, &instance);
  if (code == NVML_SUCCESS) {
    code = Call(symbols_.nvmlGpuInstanceGetInfo, instance, &info);
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceCreateGpuInstance", format("{} {} at {}", uuid, profile.name, start),
                    code);
  }
  return info.id;
}

Result<unsigned> MigControl::CreateComputeInstance(const std::string& uuid, unsigned gpu_instance,
                                                   unsigned slices) const {
  TRY_ASSIGN(const nvmlGpuInstance_t of, InstanceOf(symbols_, uuid, gpu_instance));
  const auto profiles = ReadComputeProfiles(symbols_, of);
  const auto profile = std::ranges::find(profiles, slices, &ComputeProfile::slices);
  const std::string what = format("{} GPU instance {} of {} slices", uuid, gpu_instance, slices);
  if (profile == profiles.end()) {
    return FailNvml("nvmlGpuInstanceGetComputeInstanceProfileInfo", what, NVML_ERROR_NOT_SUPPORTED);
  }
  nvmlComputeInstance_t instance = nullptr;
  nvmlComputeInstanceInfo_t info{};
  nvmlReturn_t code =
      Call(symbols_.nvmlGpuInstanceCreateComputeInstance, of, profile->id, &instance);
  if (code == NVML_SUCCESS) {
    code = Call(symbols_.nvmlComputeInstanceGetInfo_v2, instance, &info);
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlGpuInstanceCreateComputeInstance", what, code);
  }
  return info.id;
}

Status MigControl::DestroyGpuInstance(const std::string& uuid, unsigned id) const {
  TRY_ASSIGN(const nvmlGpuInstance_t instance, InstanceOf(symbols_, uuid, id));
  const nvmlReturn_t code = Call(symbols_.nvmlGpuInstanceDestroy, instance);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlGpuInstanceDestroy", format("{} GPU instance {}", uuid, id), code);
  }
  return {};
}

Status MigControl::DestroyComputeInstance(const std::string& uuid, unsigned gpu_instance,
                                          unsigned id) const {
  TRY_ASSIGN(const nvmlGpuInstance_t of, InstanceOf(symbols_, uuid, gpu_instance));
  nvmlComputeInstance_t instance = nullptr;
  nvmlReturn_t code = Call(symbols_.nvmlGpuInstanceGetComputeInstanceById, of, id, &instance);
  if (code == NVML_SUCCESS) {
    code = Call(symbols_.nvmlComputeInstanceDestroy, instance);
  }
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlComputeInstanceDestroy",
                    format("{} GPU instance {} compute instance {}", uuid, gpu_instance, id), code);
  }
  return {};
}

}  // namespace gantry::nvml
