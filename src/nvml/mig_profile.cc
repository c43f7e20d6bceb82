// SPDX-License-Identifier: Apache-2.0
// What is a MIG device called? Users request "nvidia.com/mig-1g.10gb", so the name is computed as
// NVIDIA's tools do (go-nvlib, MigProfile): an H100 has 79.6 GiB and its smallest instance 9.75
// GiB, which is one eighth of 80. The driver's own name differs between versions (B200: 1g.23gb,
// 1g.24gb) and is not used for the numbers.
#include "nvml/mig_profile.h"

#include <nvml.h>

#include <cmath>

#include "base/text.h"

namespace gantry::nvml {
namespace {

constexpr unsigned kThreeSliceGfx = 17;  // newer than the header

uint64_t Gigabytes(uint64_t memory_mib, uint64_t gpu_memory_bytes) {
  if (gpu_memory_bytes == 0) {
    return (memory_mib + 1023) / 1024;
  }
  const double part = static_cast<double>(memory_mib << 20) / static_cast<double>(gpu_memory_bytes);
  const double eighths = std::ceil(part * 8) / 8;
  const uint64_t whole = (gpu_memory_bytes + (1ULL << 30) - 1) >> 30;
  return static_cast<uint64_t>(std::lround(eighths * static_cast<double>(whole)));
}

}  // namespace

std::string_view MigSuffix(unsigned gi_profile) {
  switch (gi_profile) {
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1:
    case NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1:
      return "+me";
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME:
    case NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
      return "+me.all";
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX:
    case NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX:
    case NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX:
    case kThreeSliceGfx:
      return "+gfx";
    case NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME:
    case NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME:
      return "-me";
    default:
      return "";
  }
}

std::string MigSuffixOfName(std::string_view name) {
  const auto mig = name.rfind("MIG ");
  if (mig == std::string_view::npos) {
    return "";
  }
  name.remove_prefix(mig);
  const auto end = name.rfind("gb");
  return end == std::string_view::npos ? "" : std::string(name.substr(end + 2));
}

std::string MigProfileName(const MigAttributes& attributes, uint64_t gpu_memory_bytes,
                           std::string_view suffix) {
  const std::string compute = attributes.compute_slices == attributes.gpu_slices
                                  ? ""
                                  : format("{}c.", attributes.compute_slices);
  return format("{}{}g.{}gb{}", compute, attributes.gpu_slices,
                Gigabytes(attributes.memory_mib, gpu_memory_bytes), suffix);
}

}  // namespace gantry::nvml
