// SPDX-License-Identifier: Apache-2.0
// Which performance counters can be asked for? Since Hopper NVML has them itself (GPM).
#include <nvml.h>

#include <array>

#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {
namespace {

using nvml::Source;

constexpr auto kProfileRows = std::to_array<FieldRow>({
    FieldRow("PROF_GR_ENGINE_UTIL_RATIO", "PROF_GR_ENGINE_ACTIVE", Source::kFieldValue, 1)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_SM_UTIL_RATIO", "PROF_SM_ACTIVE", Source::kFieldValue, 2)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_SM_OCCUPANCY_RATIO", "PROF_SM_OCCUPANCY", Source::kFieldValue, 3)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_TENSOR_UTIL_RATIO", "PROF_PIPE_TENSOR_ACTIVE", Source::kFieldValue, 5)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_DRAM_UTIL_RATIO", "PROF_DRAM_ACTIVE", Source::kFieldValue, 10)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_FP64_UTIL_RATIO", "PROF_PIPE_FP64_ACTIVE", Source::kFieldValue, 11)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_FP32_UTIL_RATIO", "PROF_PIPE_FP32_ACTIVE", Source::kFieldValue, 12)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_FP16_UTIL_RATIO", "PROF_PIPE_FP16_ACTIVE", Source::kFieldValue, 13)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_PCIE_TX_BYTES", "", Source::kFieldValue, 20).By(From::kGpm).Times(kMib),
    FieldRow("PROF_PCIE_RX_BYTES", "", Source::kFieldValue, 21).By(From::kGpm).Times(kMib),
    FieldRow("PROF_NVLINK_TX_BYTES", "", Source::kFieldValue, 61).By(From::kGpm).Times(kMib),
    FieldRow("PROF_NVLINK_RX_BYTES", "", Source::kFieldValue, 60).By(From::kGpm).Times(kMib),
    FieldRow("PROF_IMMA_UTIL_RATIO", "PROF_PIPE_TENSOR_IMMA_ACTIVE", Source::kFieldValue, 9)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_HMMA_UTIL_RATIO", "PROF_PIPE_TENSOR_HMMA_ACTIVE", Source::kFieldValue, 7)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_DFMA_UTIL_RATIO", "PROF_PIPE_TENSOR_DFMA_ACTIVE", Source::kFieldValue, 6)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_INT_UTIL_RATIO", "PROF_PIPE_INT_ACTIVE", Source::kFieldValue, 4)
        .OfInstance()
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_0_RATIO", "PROF_NVDEC0_ACTIVE", Source::kFieldValue, 30)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_1_RATIO", "PROF_NVDEC1_ACTIVE", Source::kFieldValue, 31)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_2_RATIO", "PROF_NVDEC2_ACTIVE", Source::kFieldValue, 32)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_3_RATIO", "PROF_NVDEC3_ACTIVE", Source::kFieldValue, 33)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_4_RATIO", "PROF_NVDEC4_ACTIVE", Source::kFieldValue, 34)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_5_RATIO", "PROF_NVDEC5_ACTIVE", Source::kFieldValue, 35)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_6_RATIO", "PROF_NVDEC6_ACTIVE", Source::kFieldValue, 36)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVDEC_UTIL_7_RATIO", "PROF_NVDEC7_ACTIVE", Source::kFieldValue, 37)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_0_RATIO", "PROF_NVJPG0_ACTIVE", Source::kFieldValue, 40)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_1_RATIO", "PROF_NVJPG1_ACTIVE", Source::kFieldValue, 41)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_2_RATIO", "PROF_NVJPG2_ACTIVE", Source::kFieldValue, 42)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_3_RATIO", "PROF_NVJPG3_ACTIVE", Source::kFieldValue, 43)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_4_RATIO", "PROF_NVJPG4_ACTIVE", Source::kFieldValue, 44)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_5_RATIO", "PROF_NVJPG5_ACTIVE", Source::kFieldValue, 45)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_6_RATIO", "PROF_NVJPG6_ACTIVE", Source::kFieldValue, 46)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVJPG_UTIL_7_RATIO", "PROF_NVJPG7_ACTIVE", Source::kFieldValue, 47)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVOFA_UTIL_0_RATIO", "PROF_NVOFA0_ACTIVE", Source::kFieldValue, 50)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_NVOFA_UTIL_1_RATIO", "PROF_NVOFA1_ACTIVE", Source::kFieldValue, 51)
        .As(Shape::kNumber)
        .By(From::kGpm)
        .Times(1e-2),
    FieldRow("PROF_C2C_TX_ALL_BYTES", "", Source::kFieldValue, 100).By(From::kGpm).Times(kMib),
    FieldRow("PROF_C2C_TX_DATA_BYTES", "", Source::kFieldValue, 102).By(From::kGpm).Times(kMib),
    FieldRow("PROF_C2C_RX_ALL_BYTES", "", Source::kFieldValue, 101).By(From::kGpm).Times(kMib),
    FieldRow("PROF_C2C_RX_DATA_BYTES", "", Source::kFieldValue, 103).By(From::kGpm).Times(kMib),
    FieldRow("PROF_HOSTMEM_CACHE_HIT", "", Source::kFieldValue, 160).By(From::kGpm),
    FieldRow("PROF_HOSTMEM_CACHE_MISS", "", Source::kFieldValue, 161).By(From::kGpm),
    FieldRow("PROF_PEERMEM_CACHE_HIT", "", Source::kFieldValue, 162).By(From::kGpm),
    FieldRow("PROF_PEERMEM_CACHE_MISS", "", Source::kFieldValue, 163).By(From::kGpm),
    FieldRow("PROF_SM_CYCLES_ELAPSED_TOTAL", "", Source::kFieldValue, 248).By(From::kGpm),
    FieldRow("PROF_SM_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 249).By(From::kGpm),
    FieldRow("PROF_MMA_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 250).By(From::kGpm),
    FieldRow("PROF_DMMA_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 251).By(From::kGpm),
    FieldRow("PROF_HMMA_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 252).By(From::kGpm),
    FieldRow("PROF_IMMA_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 253).By(From::kGpm),
    FieldRow("PROF_DFMA_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 254).By(From::kGpm),
    FieldRow("PROF_PCIE_TX_BYTES_TOTAL", "", Source::kFieldValue, 255).By(From::kGpm),
    FieldRow("PROF_PCIE_RX_BYTES_TOTAL", "", Source::kFieldValue, 256).By(From::kGpm),
    FieldRow("PROF_INT_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 257).By(From::kGpm),
    FieldRow("PROF_FP64_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 258).By(From::kGpm),
    FieldRow("PROF_FP32_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 259).By(From::kGpm),
    FieldRow("PROF_FP16_CYCLES_ACTIVE_TOTAL", "", Source::kFieldValue, 260).By(From::kGpm),
});

}  // namespace

std::span<const FieldRow> ProfileFields() { return kProfileRows; }

}  // namespace gantry::metrics_exporter
