// SPDX-License-Identifier: Apache-2.0
// Answers what a GPU is: name, UUID, serial and part numbers, firmware, PCI address, architecture.
#include <stdio.h>

#include "session.h"

using namespace fakegpu;

FAKEGPU_TEXT(nvmlDeviceGetSerial, serial)
FAKEGPU_TEXT(nvmlDeviceGetBoardPartNumber, board_part_number)
FAKEGPU_TEXT(nvmlDeviceGetVbiosVersion, vbios)
FAKEGPU_TEXT(nvmlDeviceGetInforomImageVersion, inforom_image)
FAKEGPU_NUMBER(nvmlDeviceGetMinorNumber, minor)
FAKEGPU_NUMBER(nvmlDeviceGetModuleId, module_id)
FAKEGPU_NUMBER(nvmlDeviceGetBoardId, board_id)
FAKEGPU_NUMBER(nvmlDeviceGetMultiGpuBoard, multi_gpu_board)
FAKEGPU_NUMBER(nvmlDeviceGetNumGpuCores, cores)
FAKEGPU_NUMBER(nvmlDeviceGetMemoryBusWidth, memory_bus_width)
FAKEGPU_SHARED_ENUM(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, architecture)
FAKEGPU_SHARED_ENUM(nvmlDeviceGetBrand, nvmlBrandType_t, brand)
FAKEGPU_ENUM(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, virtualization)

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* out, unsigned length) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    return PutText(out, length, mig == nullptr ? gpu.uuid : mig->compute->uuid);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* out, unsigned length) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (mig == nullptr) return PutText(out, length, gpu.name);
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE], profile[40];
    ComputeName(*mig->profile, mig->compute->slices, profile, sizeof profile);
    snprintf(name, sizeof name, "%.50s %s", gpu.name, profile);
    return PutText(out, length, name);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* out) {
  return OnEither(__func__, device, [&](const Gpu&, const MigDevice* mig) {
    return Put(out, mig == nullptr ? IndexOf(device) : MigIndexOf(device, *mig));
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device,
                                                        nvmlInforomObject_t object, char* out,
                                                        unsigned length) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    switch (object) {
      case NVML_INFOROM_OEM:
        return PutText(out, length, gpu.inforom_oem);
      case NVML_INFOROM_ECC:
        return PutText(out, length, gpu.inforom_ecc);
      case NVML_INFOROM_POWER:
        return PutText(out, length, gpu.inforom_power);
      default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device) {
  return OnGpu(__func__, device, [](const Gpu&) { return NVML_SUCCESS; });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return PutText(out, sizeof gpu.gsp_firmware, gpu.gsp_firmware);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned* enabled,
                                                         unsigned* is_default) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (enabled == nullptr || is_default == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *enabled = *is_default = gpu.gsp_firmware[0] != '\0';
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major,
                                                               int* minor) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice*) {
    nvmlReturn_t no = PutEnum(major, gpu.compute_major);
    return no == NVML_SUCCESS ? PutEnum(minor, gpu.compute_minor) : no;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *out = {};
    out->domain = gpu.pci_domain;
    out->bus = gpu.pci_bus;
    out->device = gpu.pci_slot;
    out->pciDeviceId = gpu.pci_id;
    out->pciSubSystemId = gpu.pci_subsystem_id;
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0", gpu.pci_domain & 0xffff,
             gpu.pci_bus & 0xff, gpu.pci_slot & 0xff);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", gpu.pci_domain, gpu.pci_bus & 0xff,
             gpu.pci_slot & 0xff);
    return NVML_SUCCESS;
  });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return nvmlDeviceGetPciInfo_v3(device, out);
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* out) {
  return nvmlDeviceGetPciInfo_v3(device, out);
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlPciInfo_t plain;
    nvmlReturn_t no = nvmlDeviceGetPciInfo_v3(device, &plain);
    if (no != NVML_SUCCESS) return no;
    *out = {};
    out->version = nvmlPciInfoExt_v1;
    out->domain = plain.domain;
    out->bus = plain.bus;
    out->device = plain.device;
    out->pciDeviceId = plain.pciDeviceId;
    out->pciSubSystemId = plain.pciSubSystemId;
    out->baseClass = 0x03;
    out->subClass = gpu.display_attached == 1 ? 0x00 : 0x02;
    std::memcpy(out->busId, plain.busId, sizeof out->busId);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetHostVgpuMode(nvmlDevice_t device,
                                                      nvmlHostVgpuMode_t* out) {
  (void)out;
  return OnGpu(__func__, device, [](const Gpu&) { return NVML_ERROR_NOT_SUPPORTED; });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device,
                                                       nvmlDeviceAttributes_t* out) {
  return OnEither(__func__, device, [&](const Gpu& gpu, const MigDevice* mig) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (mig == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    const MigProfile& of = *mig->profile;
    u32 slices = mig->compute->slices;
    *out = {ComputeMultiprocessors(gpu, of, slices),
            of.copy_engines,
            of.decoders,
            of.encoders,
            of.jpeg_engines,
            of.ofa_engines,
            of.slices,
            slices,
            of.memory};
    return NVML_SUCCESS;
  });
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device,
                                                    nvmlDeviceAttributes_t* out) {
  return nvmlDeviceGetAttributes_v2(device, out);
}

// None is licensed. Only what is common to the structures of all four versions is written.
FAKEGPU_EXPORT nvmlReturn_t
nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t* out) {
  return OnGpu(__func__, device, [&](const Gpu&) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    out->isGridLicenseSupported = 0;
    out->licensableFeaturesCount = 0;
    return NVML_SUCCESS;
  });
}
FAKEGPU_EXPORT nvmlReturn_t
nvmlDeviceGetGridLicensableFeatures_v3(nvmlDevice_t device, nvmlGridLicensableFeatures_t* out) {
  return nvmlDeviceGetGridLicensableFeatures_v4(device, out);
}
FAKEGPU_EXPORT nvmlReturn_t
nvmlDeviceGetGridLicensableFeatures_v2(nvmlDevice_t device, nvmlGridLicensableFeatures_t* out) {
  return nvmlDeviceGetGridLicensableFeatures_v4(device, out);
}
FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGridLicensableFeatures(nvmlDevice_t device,
                                                                nvmlGridLicensableFeatures_t* out) {
  return nvmlDeviceGetGridLicensableFeatures_v4(device, out);
}

namespace {

// A GPU that no fabric manager looks after (fabric_state unknown) answers "not supported".
template <class Info>
nvmlReturn_t PutFabric(const Gpu& gpu, Info* out) {
  if (gpu.fabric_state == kUnknown32) return NVML_ERROR_NOT_SUPPORTED;
  std::memcpy(out->clusterUuid, gpu.fabric_cluster_uuid, sizeof out->clusterUuid);
  out->status = static_cast<nvmlReturn_t>(gpu.fabric_status);
  out->cliqueId = gpu.fabric_clique;
  out->state = static_cast<nvmlGpuFabricState_t>(gpu.fabric_state);
  return NVML_SUCCESS;
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device,
                                                       nvmlGpuFabricInfo_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    return out == nullptr ? NVML_ERROR_INVALID_ARGUMENT : PutFabric(gpu, out);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device,
                                                        nvmlGpuFabricInfoV_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlGpuFabricInfo_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    out->healthMask = 0;
    return PutFabric(gpu, out);
  });
}
