// SPDX-License-Identifier: Apache-2.0
// Which performance counters can be asked for? Since Hopper NVML has them itself (GPM).
#include <nvml.h>

#include <array>

#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {
namespace {

using nvml::Source;

// NVML's GPM metric `id` in percent, printed as a ratio.
constexpr FieldRow Ratio(const char* newest, const char* before, unsigned id) {
  return FieldRow(newest, before, Source::kFieldValue, id)
      .As(Shape::kNumber)
      .By(From::kGpm)
      .Times(1e-2);
}

// NVML's GPM metric `id` in MiB/s, printed in bytes.
constexpr FieldRow Bytes(const char* newest, unsigned id) {
  return FieldRow(newest, "", Source::kFieldValue, id).By(From::kGpm).Times(kMib);
}

constexpr auto kProfileRows = std::to_array<FieldRow>({
    Ratio("PROF_GR_ENGINE_UTIL_RATIO", "PROF_GR_ENGINE_ACTIVE", 1).OfInstance(),
    Ratio("PROF_SM_UTIL_RATIO", "PROF_SM_ACTIVE", 2).OfInstance(),
    Ratio("PROF_SM_OCCUPANCY_RATIO", "PROF_SM_OCCUPANCY", 3).OfInstance(),
    Ratio("PROF_TENSOR_UTIL_RATIO", "PROF_PIPE_TENSOR_ACTIVE", 5).OfInstance(),
    Ratio("PROF_DRAM_UTIL_RATIO", "PROF_DRAM_ACTIVE", 10).OfInstance(),
    Ratio("PROF_FP64_UTIL_RATIO", "PROF_PIPE_FP64_ACTIVE", 11).OfInstance(),
    Ratio("PROF_FP32_UTIL_RATIO", "PROF_PIPE_FP32_ACTIVE", 12).OfInstance(),
    Ratio("PROF_FP16_UTIL_RATIO", "PROF_PIPE_FP16_ACTIVE", 13).OfInstance(),
    Bytes("PROF_PCIE_TX_BYTES", 20),
    Bytes("PROF_PCIE_RX_BYTES", 21),
    Bytes("PROF_NVLINK_TX_BYTES", 61),
    Bytes("PROF_NVLINK_RX_BYTES", 60),
    Ratio("PROF_IMMA_UTIL_RATIO", "PROF_PIPE_TENSOR_IMMA_ACTIVE", 9).OfInstance(),
    Ratio("PROF_HMMA_UTIL_RATIO", "PROF_PIPE_TENSOR_HMMA_ACTIVE", 7).OfInstance(),
    Ratio("PROF_DFMA_UTIL_RATIO", "PROF_PIPE_TENSOR_DFMA_ACTIVE", 6).OfInstance(),
    Ratio("PROF_INT_UTIL_RATIO", "PROF_PIPE_INT_ACTIVE", 4).OfInstance(),
    Ratio("PROF_NVDEC_UTIL_0_RATIO", "PROF_NVDEC0_ACTIVE", 30),
    Ratio("PROF_NVDEC_UTIL_1_RATIO", "PROF_NVDEC1_ACTIVE", 31),
    Ratio("PROF_NVDEC_UTIL_2_RATIO", "PROF_NVDEC2_ACTIVE", 32),
    Ratio("PROF_NVDEC_UTIL_3_RATIO", "PROF_NVDEC3_ACTIVE", 33),
    Ratio("PROF_NVDEC_UTIL_4_RATIO", "PROF_NVDEC4_ACTIVE", 34),
    Ratio("PROF_NVDEC_UTIL_5_RATIO", "PROF_NVDEC5_ACTIVE", 35),
    Ratio("PROF_NVDEC_UTIL_6_RATIO", "PROF_NVDEC6_ACTIVE", 36),
    Ratio("PROF_NVDEC_UTIL_7_RATIO", "PROF_NVDEC7_ACTIVE", 37),
    Ratio("PROF_NVJPG_UTIL_0_RATIO", "PROF_NVJPG0_ACTIVE", 40),
    Ratio("PROF_NVJPG_UTIL_1_RATIO", "PROF_NVJPG1_ACTIVE", 41),
    Ratio("PROF_NVJPG_UTIL_2_RATIO", "PROF_NVJPG2_ACTIVE", 42),
    Ratio("PROF_NVJPG_UTIL_3_RATIO", "PROF_NVJPG3_ACTIVE", 43),
    Ratio("PROF_NVJPG_UTIL_4_RATIO", "PROF_NVJPG4_ACTIVE", 44),
    Ratio("PROF_NVJPG_UTIL_5_RATIO", "PROF_NVJPG5_ACTIVE", 45),
    Ratio("PROF_NVJPG_UTIL_6_RATIO", "PROF_NVJPG6_ACTIVE", 46),
    Ratio("PROF_NVJPG_UTIL_7_RATIO", "PROF_NVJPG7_ACTIVE", 47),
    Ratio("PROF_NVOFA_UTIL_0_RATIO", "PROF_NVOFA0_ACTIVE", 50),
    Ratio("PROF_NVOFA_UTIL_1_RATIO", "PROF_NVOFA1_ACTIVE", 51),
    Bytes("PROF_C2C_TX_ALL_BYTES", 100),
    Bytes("PROF_C2C_TX_DATA_BYTES", 102),
    Bytes("PROF_C2C_RX_ALL_BYTES", 101),
    Bytes("PROF_C2C_RX_DATA_BYTES", 103),
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
