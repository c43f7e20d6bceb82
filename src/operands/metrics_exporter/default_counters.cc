// SPDX-License-Identifier: Apache-2.0
// What is served where nobody names a file: the fields that dcgm-exporter 4.8 serves then, with
// their types there (dcp-metrics-included.csv). The help texts are ours.
#include "operands/metrics_exporter/counters.h"

namespace gantry::metrics_exporter {

std::string_view DefaultCounters() {
  return R"(# field, type, help
DCGM_FI_DEV_SM_CLOCK, gauge, Clock of the streaming multiprocessors in MHz.
DCGM_FI_DEV_MEM_CLOCK, gauge, Clock of the memory in MHz.
DCGM_FI_DEV_MEMORY_TEMP, gauge, Temperature of the memory in degrees Celsius.
DCGM_FI_DEV_GPU_TEMP, gauge, Temperature of the GPU in degrees Celsius.
DCGM_FI_DEV_POWER_USAGE, gauge, Power that the board draws in W.
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, Energy since the driver was loaded in mJ.
DCGM_FI_DEV_PCIE_REPLAY_COUNTER, counter, Packets that PCIe had to send again.
DCGM_FI_DEV_GPU_UTIL, gauge, Part of the time in which the GPU computed in %.
DCGM_FI_DEV_MEM_COPY_UTIL, gauge, Part of the time in which the memory was read or written in %.
DCGM_FI_DEV_ENC_UTIL, gauge, Use of the video encoders in %.
DCGM_FI_DEV_DEC_UTIL, gauge, Use of the video decoders in %.
DCGM_FI_DEV_XID_ERRORS, gauge, Number of the last XID error; 0 if there was none.
DCGM_FI_DEV_FB_FREE, gauge, Free memory in MiB.
DCGM_FI_DEV_FB_USED, gauge, Used memory in MiB.
DCGM_FI_DEV_FB_RESERVED, gauge, Memory that the driver keeps for itself in MiB.
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL, gauge, Rate over all NVLinks in KiB/s / 1000.
DCGM_FI_DEV_VGPU_LICENSE_STATUS, gauge, Whether a virtual GPU is licensed.
DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS, counter, Memory rows remapped for uncorrectable errors.
DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS, counter, Memory rows remapped for correctable errors.
DCGM_FI_DEV_ROW_REMAP_FAILURE, gauge, Whether remapping a memory row has failed.
DCGM_FI_DRIVER_VERSION, label, Version of the driver.
DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, Part of the time in which the graphics engine was busy.
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE, gauge, Part of the cycles in which the tensor cores were busy.
DCGM_FI_PROF_DRAM_ACTIVE, gauge, Part of the cycles in which the memory interface was busy.
DCGM_FI_PROF_PCIE_TX_BYTES, gauge, Rate over PCIe from the GPU in bytes/s.
DCGM_FI_PROF_PCIE_RX_BYTES, gauge, Rate over PCIe to the GPU in bytes/s.
)";
}

}  // namespace gantry::metrics_exporter
