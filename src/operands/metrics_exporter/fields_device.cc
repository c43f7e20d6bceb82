// SPDX-License-Identifier: Apache-2.0
// What of a GPU itself can be asked for, and how does NVML call it?
#include <nvml.h>

#include <array>

#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {
namespace {

using nvml::Source;

constexpr auto kDeviceRows = std::to_array<FieldRow>({
    FieldRow("SYSTEM_DRIVER_VERSION", "DRIVER_VERSION", Source::kText, kDriverVersion)
        .As(Shape::kText)
        .By(From::kIdentity),
    FieldRow("SYSTEM_NVML_VERSION", "NVML_VERSION", Source::kText, kNvmlVersion)
        .As(Shape::kText)
        .By(From::kIdentity),
    FieldRow("SYSTEM_GPU_QUANTITY", "DEV_COUNT", Source::kText, kGpuCount).By(From::kIdentity),
    FieldRow("CUDA_DRIVER_VERSION", "", Source::kText, kCudaVersion).By(From::kIdentity),
    FieldRow("DEV_GPU_NAME", "DEV_NAME", Source::kText, kName)
        .OfInstance()
        .As(Shape::kText)
        .By(From::kIdentity),
    FieldRow("DEV_GPU_BRAND", "DEV_BRAND", Source::kText, nvml::kBrandText).As(Shape::kText),
    FieldRow("DEV_NVML_INDEX", "", Source::kText, kIndex).By(From::kIdentity),
    FieldRow("DEV_BOARD_SERIAL", "DEV_SERIAL", Source::kText, nvml::kSerial).As(Shape::kText),
    FieldRow("DEV_GPU_UUID", "DEV_UUID", Source::kText, kUuid)
        .OfInstance()
        .As(Shape::kText)
        .By(From::kIdentity),
    FieldRow("DEV_GPU_MINOR_NUMBER", "DEV_MINOR_NUMBER", Source::kText, kMinor).By(From::kIdentity),
    FieldRow("DEV_INFOROM_OEM_VERSION", "DEV_OEM_INFOROM_VER", Source::kText, nvml::kInforomOem)
        .As(Shape::kText),
    FieldRow("DEV_PCI_BUS_ID", "DEV_PCI_BUSID", Source::kText, kPciBusId)
        .As(Shape::kText)
        .By(From::kIdentity),
    FieldRow("DEV_PCI_COMBINED_ID", "", Source::kPciDeviceId),
    FieldRow("DEV_PCI_SUBSYS_ID", "", Source::kPciSubsystemId),
    FieldRow("CUDA_GPU_COMPUTE_CAPABILITY", "DEV_CUDA_COMPUTE_CAPABILITY",
             Source::kComputeCapability),
    FieldRow("DEV_GPU_COMPUTE_MODE", "DEV_COMPUTE_MODE", Source::kComputeMode),
    FieldRow("DEV_GPU_PERSISTENCE_MODE", "DEV_PERSISTENCE_MODE", Source::kPersistenceMode),
    FieldRow("DEV_MIG_MODE", "", Source::kMigMode),
    FieldRow("DEV_MIG_MAX_SLICES", "", Source::kMaxMigDevices),
    FieldRow("DEV_CPU_AFFINITY_0", "", Source::kCpuAffinity, 0),
    FieldRow("DEV_CPU_AFFINITY_1", "", Source::kCpuAffinity, 1),
    FieldRow("DEV_CPU_AFFINITY_2", "", Source::kCpuAffinity, 2),
    FieldRow("DEV_CPU_AFFINITY_3", "", Source::kCpuAffinity, 3),
    FieldRow("DEV_INFOROM_POWER_VERSION", "DEV_POWER_INFOROM_VER", Source::kText,
             nvml::kInforomPower)
        .As(Shape::kText),
    FieldRow("DEV_INFOROM_IMAGE_VERSION", "DEV_INFOROM_IMAGE_VER", Source::kText,
             nvml::kInforomImage)
        .As(Shape::kText),
    FieldRow("DEV_INFOROM_CHECKSUM", "DEV_INFOROM_CONFIG_CHECK", Source::kInforomChecksum),
    FieldRow("DEV_INFOROM_VALID", "DEV_INFOROM_CONFIG_VALID", Source::kInforomValid),
    FieldRow("DEV_VBIOS_VERSION", "", Source::kText, nvml::kVbios).As(Shape::kText),
    FieldRow("DEV_MEMORY_AFFINITY_0", "DEV_MEM_AFFINITY_0", Source::kMemoryAffinity, 0),
    FieldRow("DEV_MEMORY_AFFINITY_1", "DEV_MEM_AFFINITY_1", Source::kMemoryAffinity, 1),
    FieldRow("DEV_MEMORY_AFFINITY_2", "DEV_MEM_AFFINITY_2", Source::kMemoryAffinity, 2),
    FieldRow("DEV_MEMORY_AFFINITY_3", "DEV_MEM_AFFINITY_3", Source::kMemoryAffinity, 3),
    FieldRow("DEV_BAR1_TOTAL", "", Source::kBar1Total).OfInstance().Times(kPerMib),
    FieldRow("DEV_BAR1_USED", "", Source::kBar1Used).OfInstance().Times(kPerMib),
    FieldRow("DEV_BAR1_FREE", "", Source::kBar1Free).OfInstance().Times(kPerMib),
    FieldRow("DEV_GPM_SUPPORT", "", Source::kGpmSupport),
    FieldRow("DEV_SM_CLOCK", "", Source::kClock, NVML_CLOCK_SM),
    FieldRow("DEV_MEM_CLOCK", "", Source::kClock, NVML_CLOCK_MEM),
    FieldRow("DEV_VIDEO_CLOCK", "", Source::kClock, NVML_CLOCK_VIDEO),
    FieldRow("DEV_APP_SM_CLOCK", "", Source::kApplicationsClock, NVML_CLOCK_SM),
    FieldRow("DEV_APP_MEM_CLOCK", "", Source::kApplicationsClock, NVML_CLOCK_MEM),
    FieldRow("DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCK_THROTTLE_REASONS", Source::kClocksEventReasons),
    FieldRow("DEV_MAX_SM_CLOCK", "", Source::kMaxClock, NVML_CLOCK_SM),
    FieldRow("DEV_MAX_MEM_CLOCK", "", Source::kMaxClock, NVML_CLOCK_MEM),
    FieldRow("DEV_MAX_VIDEO_CLOCK", "", Source::kMaxClock, NVML_CLOCK_VIDEO),
    FieldRow("DEV_CLOCKS_AUTOBOOST_MODE", "DEV_AUTOBOOST", Source::kAutoBoost),
    FieldRow("DEV_MEMORY_TEMP_CELSIUS", "DEV_MEMORY_TEMP", Source::kFieldValue,
             NVML_FI_DEV_MEMORY_TEMP)
        .As(Shape::kMemoryTemperature),
    FieldRow("DEV_GPU_TEMP_CELSIUS", "DEV_GPU_TEMP", Source::kTemperature).As(Shape::kTemperature),
    FieldRow("DEV_MEMORY_MAX_OP_TEMP_CELSIUS", "DEV_MEM_MAX_OP_TEMP", Source::kTemperatureThreshold,
             NVML_TEMPERATURE_THRESHOLD_MEM_MAX),
    FieldRow("DEV_GPU_MAX_OP_TEMP_CELSIUS", "DEV_GPU_MAX_OP_TEMP", Source::kTemperatureThreshold,
             NVML_TEMPERATURE_THRESHOLD_GPU_MAX),
    FieldRow("DEV_GPU_TEMP_MARGIN_CELSIUS", "DEV_GPU_TEMP_LIMIT", Source::kTemperatureMargin),
    FieldRow("DEV_BOARD_POWER_WATTS", "DEV_POWER_USAGE", Source::kPower)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_TOTAL_ENERGY_CONSUMPTION", "", Source::kFieldValue,
             NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION),
    FieldRow("DEV_BOARD_POWER_RAW_WATTS", "DEV_POWER_USAGE_INSTANT", Source::kFieldValue,
             NVML_FI_DEV_POWER_INSTANT)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_GPU_TEMP_SLOWDOWN_CELSIUS", "DEV_SLOWDOWN_TEMP", Source::kTemperatureThreshold,
             NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
    FieldRow("DEV_GPU_TEMP_SHUTDOWN_CELSIUS", "DEV_SHUTDOWN_TEMP", Source::kTemperatureThreshold,
             NVML_TEMPERATURE_THRESHOLD_SHUTDOWN),
    FieldRow("DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS", "DEV_POWER_MGMT_LIMIT", Source::kPowerLimit)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_BOARD_POWER_LIMIT_MIN_WATTS", "DEV_POWER_MGMT_LIMIT_MIN", Source::kPowerLimitMin)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_BOARD_POWER_LIMIT_MAX_WATTS", "DEV_POWER_MGMT_LIMIT_MAX", Source::kPowerLimitMax)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS", "DEV_POWER_MGMT_LIMIT_DEF",
             Source::kPowerLimitDefault)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", "DEV_ENFORCED_POWER_LIMIT",
             Source::kPowerLimitEnforced)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_GPU_PSTATE", "DEV_PSTATE", Source::kPerformanceState),
    FieldRow("DEV_FAN_SPEED", "", Source::kFanSpeed),
    FieldRow("DEV_PCIE_TX_THROUGHPUT", "", Source::kPcieThroughput, NVML_PCIE_UTIL_TX_BYTES),
    FieldRow("DEV_PCIE_RX_THROUGHPUT", "", Source::kPcieThroughput, NVML_PCIE_UTIL_RX_BYTES),
    FieldRow("DEV_PCIE_REPLAY_TOTAL", "DEV_PCIE_REPLAY_COUNTER", Source::kPcieReplays),
    FieldRow("DEV_GPU_UTIL_RATIO", "DEV_GPU_UTIL", Source::kUtilizationGpu),
    FieldRow("DEV_MEM_COPY_UTIL", "", Source::kUtilizationMemory),
    FieldRow("DEV_ENC_UTIL", "", Source::kUtilizationEncoder),
    FieldRow("DEV_DEC_UTIL", "", Source::kUtilizationDecoder),
    FieldRow("DEV_PCIE_MAX_LINK_GEN", "", Source::kPcieMaxGeneration),
    FieldRow("DEV_PCIE_MAX_LINK_WIDTH", "", Source::kPcieMaxWidth),
    FieldRow("DEV_PCIE_LINK_GEN", "", Source::kPcieGeneration),
    FieldRow("DEV_PCIE_LINK_WIDTH", "", Source::kPcieWidth),
    FieldRow("DEV_FB_TOTAL", "", Source::kMemoryTotal).OfInstance().Times(kPerMib),
    FieldRow("DEV_FB_FREE", "", Source::kMemoryFree).OfInstance().Times(kPerMib),
    FieldRow("DEV_FB_USED", "", Source::kMemoryUsed).OfInstance().Times(kPerMib),
    FieldRow("DEV_FB_RESERVED", "", Source::kMemoryReserved).OfInstance().Times(kPerMib),
    FieldRow("DEV_FB_USED_RATIO", "DEV_FB_USED_PERCENT", Source::kMemoryUsedRatio)
        .OfInstance()
        .As(Shape::kNumber),
    FieldRow("DEV_GPU_VIRTUAL_MODE", "DEV_VIRTUAL_MODE", Source::kVirtualizationMode),
    FieldRow("DEV_VGPU_LICENSE_STATUS", "", Source::kLicensed),
    FieldRow("DEV_BAR1_CAPACITY_BYTES", "", Source::kBar1Total),
    FieldRow("DEV_BAR1_USED_BYTES", "", Source::kBar1Used),
    FieldRow("DEV_BAR1_FREE_BYTES", "", Source::kBar1Free),
    FieldRow("DEV_SM_CLOCK_HERTZ", "", Source::kClock, NVML_CLOCK_SM).Times(1e6),
    FieldRow("DEV_MEMORY_CLOCK_HERTZ", "", Source::kClock, NVML_CLOCK_MEM).Times(1e6),
    FieldRow("DEV_VIDEO_CLOCK_HERTZ", "", Source::kClock, NVML_CLOCK_VIDEO).Times(1e6),
    FieldRow("DEV_SM_APP_CLOCK_HERTZ", "", Source::kApplicationsClock, NVML_CLOCK_SM).Times(1e6),
    FieldRow("DEV_MEMORY_APP_CLOCK_HERTZ", "", Source::kApplicationsClock, NVML_CLOCK_MEM)
        .Times(1e6),
    FieldRow("DEV_SM_MAX_CLOCK_HERTZ", "", Source::kMaxClock, NVML_CLOCK_SM).Times(1e6),
    FieldRow("DEV_MEMORY_MAX_CLOCK_HERTZ", "", Source::kMaxClock, NVML_CLOCK_MEM).Times(1e6),
    FieldRow("DEV_VIDEO_MAX_CLOCK_HERTZ", "", Source::kMaxClock, NVML_CLOCK_VIDEO).Times(1e6),
    FieldRow("DEV_GPU_ENERGY_JOULES_TOTAL", "", Source::kFieldValue,
             NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION)
        .As(Shape::kNumber)
        .Times(1e-3),
    FieldRow("DEV_FAN_SPEED_RATIO", "", Source::kFanSpeed).As(Shape::kNumber).Times(1e-2),
});

}  // namespace

std::span<const FieldRow> DeviceFields() { return kDeviceRows; }

}  // namespace gantry::metrics_exporter
