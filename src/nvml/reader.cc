// SPDX-License-Identifier: Apache-2.0
// What is a GPU, and how is it configured? The readings that seldom change.
#include "nvml/reader.h"

#include <algorithm>

namespace gantry::nvml {
namespace {

// As DCGM writes it.
const char* DcgmBrand(nvmlBrandType_t brand) {
  switch (brand) {
    case NVML_BRAND_QUADRO:
      return "Quadro";
    case NVML_BRAND_TESLA:
      return "Tesla";
    case NVML_BRAND_NVS:
      return "NVS";
    case NVML_BRAND_GRID:
      return "Grid";
    case NVML_BRAND_GEFORCE:
      return "GeForce";
    case NVML_BRAND_TITAN:
      return "Titan";
    case NVML_BRAND_NVIDIA:
      return "NVIDIA";
    default:
      return "Unknown";
  }
}

}  // namespace

Answer Reader::AskModes(const Reading& reading) {
  switch (reading.source) {
    case Source::kPerformanceState: {
      nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetPerformanceState, device_, &state);
      return Said(code, state);
    }
    case Source::kFanSpeed:
      return Number(nvml_.nvmlDeviceGetFanSpeed);
    case Source::kComputeMode: {
      nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetComputeMode, device_, &mode);
      return Said(code, mode);
    }
    case Source::kPersistenceMode: {
      nvmlEnableState_t mode = NVML_FEATURE_DISABLED;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetPersistenceMode, device_, &mode);
      return Said(code, mode);
    }
    case Source::kMigMode: {
      unsigned current = 0;
      unsigned pending = 0;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetMigMode, device_, &current, &pending);
      return Said(code, current);
    }
    case Source::kMaxMigDevices:
      return Number(nvml_.nvmlDeviceGetMaxMigDeviceCount);
    case Source::kVirtualizationMode: {
      nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetVirtualizationMode, device_, &mode);
      return Said(code, mode);
    }
    case Source::kGpmSupport: {
      nvmlGpmSupport_t support{.version = NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 0};
      const nvmlReturn_t code = Call(nvml_.nvmlGpmQueryDeviceSupport, device_, &support);
      return Said(code, support.isSupportedDevice);
    }
    case Source::kFabric:
      return AskFabric(reading.argument);
    case Source::kLicensed:
      return AskLicense();
    case Source::kCpuAffinity:
    case Source::kMemoryAffinity:
      return AskAffinity(reading);
    default:
      return AskIdentity(reading);
  }
}

Answer Reader::AskIdentity(const Reading& reading) {
  switch (reading.source) {
    case Source::kComputeCapability: {
      int major = 0;
      int minor = 0;
      const nvmlReturn_t code =
          Call(nvml_.nvmlDeviceGetCudaComputeCapability, device_, &major, &minor);
      return Said(code, major * 65536 + minor);
    }
    case Source::kPciDeviceId:
    case Source::kPciSubsystemId: {
      nvmlPciInfo_t pci{};
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetPciInfo_v3, device_, &pci);
      return Said(code,
                  reading.source == Source::kPciDeviceId ? pci.pciDeviceId : pci.pciSubSystemId);
    }
    case Source::kInforomChecksum:
      return Number(nvml_.nvmlDeviceGetInforomConfigurationChecksum);
    case Source::kInforomValid: {
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceValidateInforom, device_);
      return code == NVML_ERROR_CORRUPTED_INFOROM ? Answer(Value(0.0)) : Said(code, 1);
    }
    default:
      return AskText(reading.argument);
  }
}

Answer Reader::AskFabric(unsigned part) {
  nvmlGpuFabricInfoV_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetGpuFabricInfoV, device_, &info);
  switch (part) {
    case kFabricState:
      return Said(code, info.state);
    case kFabricStatus:
      return Said(code, info.status);
    case kFabricClique:
      return Said(code, info.cliqueId);
    case kFabricHealth:
      return Said(code, info.healthMask);
    default:
      return code == NVML_SUCCESS ? Answer(Value(FabricUuid(info.clusterUuid))) : Failed(code);
  }
}

Answer Reader::AskText(unsigned part) {
  const auto told = [this](auto function) {
    return Text([&](char* text, unsigned size) { return Call(function, device_, text, size); });
  };
  const auto inforom = [this](nvmlInforomObject_t object) {
    return Text([&](char* text, unsigned size) {
      return Call(nvml_.nvmlDeviceGetInforomVersion, device_, object, text, size);
    });
  };
  switch (part) {
    case kBrandText: {
      nvmlBrandType_t brand = NVML_BRAND_UNKNOWN;
      const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetBrand, device_, &brand);
      return code == NVML_SUCCESS ? Answer(Value(std::string(DcgmBrand(brand)))) : Failed(code);
    }
    case kSerial:
      return told(nvml_.nvmlDeviceGetSerial);
    case kVbios:
      return told(nvml_.nvmlDeviceGetVbiosVersion);
    case kInforomImage:
      return told(nvml_.nvmlDeviceGetInforomImageVersion);
    case kInforomOem:
      return inforom(NVML_INFOROM_OEM);
    case kInforomEcc:
      return inforom(NVML_INFOROM_ECC);
    default:
      return inforom(NVML_INFOROM_POWER);
  }
}

// 0 if there is nothing to license (as DCGM 4.6).
Answer Reader::AskLicense() {
  nvmlGridLicensableFeatures_t features{};
  const nvmlReturn_t code = Call(nvml_.nvmlDeviceGetGridLicensableFeatures_v4, device_, &features);
  if (code == NVML_ERROR_GPU_IS_LOST) {
    return Failed(code);
  }
  const bool licensed =
      code == NVML_SUCCESS && features.isGridLicenseSupported != 0 &&
      std::ranges::any_of(std::span(features.gridLicensableFeatures)
                              .first(std::min<size_t>(features.licensableFeaturesCount,
                                                      NVML_GRID_LICENSE_FEATURE_MAX_COUNT)),
                          [](const auto& feature) {
                            return feature.featureCode == NVML_GRID_LICENSE_FEATURE_CODE_VGPU &&
                                   feature.featureState != 0;
                          });
  return Value(licensed ? 1.0 : 0.0);
}

Answer Reader::AskAffinity(const Reading& reading) {
  std::array<unsigned long, 4> words{};
  const auto size = static_cast<unsigned>(words.size());
  const nvmlReturn_t code =
      reading.source == Source::kCpuAffinity
          ? Call(nvml_.nvmlDeviceGetCpuAffinity, device_, size, words.data())
          : Call(nvml_.nvmlDeviceGetMemoryAffinity, device_, size, words.data(),
                 static_cast<nvmlAffinityScope_t>(NVML_AFFINITY_SCOPE_NODE));
  return Said(code, words.at(reading.argument));
}

}  // namespace gantry::nvml
