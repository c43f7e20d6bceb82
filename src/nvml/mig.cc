// SPDX-License-Identifier: Apache-2.0
// Into which MIG devices is this GPU divided? NVML lists them by an index with gaps, with their
// sizes. Only the profile of its GPU instance says whether an instance has the media engines
// ("+me"). An unprivileged process may not read it; then the suffix of NVML's device name says it.
#include "nvml/mig.h"

#include <array>
#include <map>

#include "base/text.h"
#include "nvml/errors.h"
#include "nvml/mig_profile.h"

namespace gantry::nvml {
namespace {

constexpr unsigned kMaxProfiles = 64;  // the library returns INVALID_ARGUMENT after its last one

// The MIG device was destroyed while it was being read: its handle is invalid.
bool Gone(nvmlReturn_t code) {
  return code == NVML_ERROR_NOT_FOUND || code == NVML_ERROR_INVALID_ARGUMENT;
}

// NVML_GPU_INSTANCE_PROFILE_* by the driver's own number of the profile.
std::map<unsigned, unsigned> ReadProfiles(const Symbols& symbols, nvmlDevice_t gpu) {
  std::map<unsigned, unsigned> profiles;
  for (unsigned profile = 0; profile < kMaxProfiles; ++profile) {
    nvmlGpuInstanceProfileInfo_t info{};
    const nvmlReturn_t code =
        Call(symbols.nvmlDeviceGetGpuInstanceProfileInfo, gpu, profile, &info);
    if (code == NVML_ERROR_INVALID_ARGUMENT || code == NVML_ERROR_FUNCTION_NOT_FOUND) {
      break;
    }
    if (code == NVML_SUCCESS) {
      profiles[info.id] = profile;
    }
  }
  return profiles;
}

std::optional<MigPlace> Place(const Symbols& symbols, nvmlDevice_t gpu, unsigned gpu_instance) {
  nvmlGpuInstance_t instance = nullptr;
  nvmlGpuInstanceInfo_t info{};
  if (Call(symbols.nvmlDeviceGetGpuInstanceById, gpu, gpu_instance, &instance) != NVML_SUCCESS ||
      Call(symbols.nvmlGpuInstanceGetInfo, instance, &info) != NVML_SUCCESS) {
    return std::nullopt;
  }
  return MigPlace{
      .profile_id = info.profileId, .start = info.placement.start, .size = info.placement.size};
}

std::string Suffix(const Symbols& symbols, nvmlDevice_t handle,
                   const std::map<unsigned, unsigned>& profiles,
                   const std::optional<MigPlace>& place) {
  if (place.has_value()) {
    if (const auto profile = profiles.find(place->profile_id); profile != profiles.end()) {
      return std::string(MigSuffix(profile->second));
    }
  }
  std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
  if (Call(symbols.nvmlDeviceGetName, handle, name.data(), static_cast<unsigned>(name.size())) !=
      NVML_SUCCESS) {
    return "";
  }
  return MigSuffixOfName(name.data());
}

// Everything but the profile. Returns the first code that is not a success.
nvmlReturn_t ReadOne(const Symbols& symbols, nvmlDevice_t handle, MigDevice& mig) {
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
  nvmlReturn_t code =
      Call(symbols.nvmlDeviceGetUUID, handle, uuid.data(), static_cast<unsigned>(uuid.size()));
  if (code == NVML_SUCCESS) {
    mig.uuid = uuid.data();
    code = Call(symbols.nvmlDeviceGetGpuInstanceId, handle, &mig.gpu_instance);
  }
  if (code == NVML_SUCCESS) {
    code = Call(symbols.nvmlDeviceGetComputeInstanceId, handle, &mig.compute_instance);
  }
  nvmlDeviceAttributes_t read{};
  if (code == NVML_SUCCESS) {
    code = Call(symbols.nvmlDeviceGetAttributes_v2, handle, &read);
  }
  mig.attributes = {.gpu_slices = read.gpuInstanceSliceCount,
                    .compute_slices = read.computeInstanceSliceCount,
                    .multiprocessors = read.multiprocessorCount,
                    .copy_engines = read.sharedCopyEngineCount,
                    .decoders = read.sharedDecoderCount,
                    .encoders = read.sharedEncoderCount,
                    .jpeg_engines = read.sharedJpegCount,
                    .ofa_engines = read.sharedOfaCount,
                    .memory_mib = read.memorySizeMB};
  return code;
}

}  // namespace

Status ReadMigDevices(const Symbols& symbols, nvmlDevice_t gpu, Device& device) {
  unsigned count = 0;
  nvmlReturn_t code = Call(symbols.nvmlDeviceGetMaxMigDeviceCount, gpu, &count);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlDeviceGetMaxMigDeviceCount", format("GPU {}", device.index), code);
  }
  const auto profiles = ReadProfiles(symbols, gpu);
  for (unsigned index = 0; index < count; ++index) {
    const std::string who = format("GPU {} MIG device {}", device.index, index);
    nvmlDevice_t handle = nullptr;
    code = Call(symbols.nvmlDeviceGetMigDeviceHandleByIndex, gpu, index, &handle);
    if (Gone(code)) {
      continue;
    }
    if (code != NVML_SUCCESS) {
      return FailNvml("nvmlDeviceGetMigDeviceHandleByIndex", who, code);
    }
    MigDevice mig;
    mig.index = index;
    code = ReadOne(symbols, handle, mig);
    if (Gone(code)) {
      continue;
    }
    if (code != NVML_SUCCESS) {
      return FailNvml("read", who, code);
    }
    mig.place = Place(symbols, gpu, mig.gpu_instance);
    mig.profile = MigProfileName(mig.attributes, device.memory_bytes,
                                 Suffix(symbols, handle, profiles, mig.place));
    device.mig_devices.push_back(std::move(mig));
  }
  return {};
}

}  // namespace gantry::nvml
