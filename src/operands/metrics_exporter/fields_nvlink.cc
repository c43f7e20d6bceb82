// SPDX-License-Identifier: Apache-2.0
// What of NVLink can be asked for? Of all links together, and of each.
#include <nvml.h>

#include <array>

#include "operands/metrics_exporter/fields.h"

namespace gantry::metrics_exporter {
namespace {

using nvml::Source;

constexpr auto kNvLinkRows = std::to_array<FieldRow>({
    FieldRow("DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", "DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL),
    FieldRow("DEV_NVLINK_CRC_DATA_ERROR_TOTAL", "DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL),
    FieldRow("DEV_NVLINK_REPLAY_ERROR_TOTAL", "DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL),
    FieldRow("DEV_NVLINK_RECOVERY_ERROR_TOTAL", "DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL),
    FieldRow("DEV_NVLINK_THROUGHPUT_TOTAL", "DEV_NVLINK_BANDWIDTH_TOTAL", Source::kFieldValue,
             kBothWays, kAllLinks)
        .By(From::kLinkRate),
    FieldRow("DEV_NVLINK_CRC_ERROR_TOTAL", "DEV_NVLINK_ERROR_DL_CRC", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_ERROR_DL_CRC),
    FieldRow("DEV_NVLINK_RECOVERY_TOTAL", "DEV_NVLINK_ERROR_DL_RECOVERY", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY),
    FieldRow("DEV_NVLINK_REPLAY_TOTAL", "DEV_NVLINK_ERROR_DL_REPLAY", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY),
    FieldRow("DEV_NVLINK_TX_THROUGHPUT_TOTAL", "DEV_NVLINK_TX_BANDWIDTH_TOTAL", Source::kFieldValue,
             kSent, kAllLinks)
        .By(From::kLinkRate),
    FieldRow("DEV_NVLINK_RX_THROUGHPUT_TOTAL", "DEV_NVLINK_RX_BANDWIDTH_TOTAL", Source::kFieldValue,
             kReceived, kAllLinks)
        .By(From::kLinkRate),
    FieldRow("DEV_NVLINK_TX_PACKET_TOTAL", "DEV_NVLINK_COUNT_TX_PACKETS", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS, kAllLinks),
    FieldRow("DEV_NVLINK_TX_BYTES_TOTAL", "DEV_NVLINK_COUNT_TX_BYTES", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES, kAllLinks),
    FieldRow("DEV_NVLINK_RX_PACKET_TOTAL", "DEV_NVLINK_COUNT_RX_PACKETS", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_BYTES_TOTAL", "DEV_NVLINK_COUNT_RX_BYTES", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES, kAllLinks),
    FieldRow("DEV_NVLINK_RX_PACKET_MALFORMED_TOTAL", "DEV_NVLINK_COUNT_RX_MALFORMED_PACKET_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_PACKET_DROPPED_TOTAL", "DEV_NVLINK_COUNT_RX_BUFFER_OVERRUN_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_ERROR_TOTAL", "DEV_NVLINK_COUNT_RX_ERRORS", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_REMOTE_ERROR_TOTAL", "DEV_NVLINK_COUNT_RX_REMOTE_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_GENERAL_ERROR_TOTAL", "DEV_NVLINK_COUNT_RX_GENERAL_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_INTEGRITY_ERROR_TOTAL", "DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_TX_DISCARD_TOTAL", "DEV_NVLINK_COUNT_TX_DISCARDS", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS, kAllLinks),
    FieldRow("DEV_NVLINK_RECOVERY_SUCCESSFUL_TOTAL",
             "DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS, kAllLinks),
    FieldRow("DEV_NVLINK_RECOVERY_FAILED_TOTAL", "DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, kAllLinks),
    FieldRow("DEV_NVLINK_RECOVERY_EVENT_TOTAL", "DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, kAllLinks),
    FieldRow("DEV_NVLINK_RX_SYMBOL_ERROR_TOTAL", "DEV_NVLINK_COUNT_RX_SYMBOL_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_SYMBOL_BER_RAW", "DEV_NVLINK_COUNT_SYMBOL_BER", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER, kAllLinks),
    FieldRow("DEV_NVLINK_SYMBOL_BER_RATIO", "DEV_NVLINK_COUNT_SYMBOL_BER_FLOAT",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER, kAllLinks)
        .As(Shape::kBer),
    FieldRow("DEV_NVLINK_EFFECTIVE_BER_RAW", "DEV_NVLINK_COUNT_EFFECTIVE_BER", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, kAllLinks),
    FieldRow("DEV_NVLINK_EFFECTIVE_BER_RATIO", "DEV_NVLINK_COUNT_EFFECTIVE_BER_FLOAT",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER, kAllLinks)
        .As(Shape::kBer),
    FieldRow("DEV_NVLINK_EFFECTIVE_ERROR_TOTAL", "DEV_NVLINK_COUNT_EFFECTIVE_ERRORS",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, kAllLinks),
    FieldRow("DEV_NVLINK_ECC_ERROR_TOTAL", "DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL),
    FieldRow("DEV_NVLINK_FEC_HISTORY_0_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_0",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_1_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_1",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_1, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_2_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_2",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_2, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_3_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_3",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_3, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_4_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_4",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_4, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_5_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_5",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_5, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_6_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_6",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_6, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_7_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_7",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_7, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_8_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_8",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_8, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_9_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_9",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_9, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_10_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_10",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_10, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_11_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_11",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_11, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_12_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_12",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_12, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_13_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_13",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_13, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_14_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_14",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_14, kAllLinks),
    FieldRow("DEV_NVLINK_FEC_HISTORY_15_TOTAL", "DEV_NVLINK_COUNT_FEC_HISTORY_15",
             Source::kFieldValue, NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15, kAllLinks),
    FieldRow("DEV_NVLINK_LINK_STATUS", "DEV_NVLINK_GET_STATE", Source::kFieldValue,
             NVML_FI_DEV_NVLINK_GET_STATE)
        .OfLink(),
    FieldRow("DEV_NVLINK_CRC_FLIT_ERROR_PER_LINK_TOTAL", "", Source::kNvLinkErrors,
             NVML_NVLINK_ERROR_DL_CRC_FLIT)
        .OfLink(),
    FieldRow("DEV_NVLINK_CRC_DATA_ERROR_PER_LINK_TOTAL", "", Source::kNvLinkErrors,
             NVML_NVLINK_ERROR_DL_CRC_DATA)
        .OfLink(),
    FieldRow("DEV_NVLINK_REPLAY_ERROR_PER_LINK_TOTAL", "", Source::kNvLinkErrors,
             NVML_NVLINK_ERROR_DL_REPLAY)
        .OfLink(),
    FieldRow("DEV_NVLINK_RECOVERY_ERROR_PER_LINK_TOTAL", "", Source::kNvLinkErrors,
             NVML_NVLINK_ERROR_DL_RECOVERY)
        .OfLink(),
    FieldRow("DEV_NVLINK_THROUGHPUT_PER_LINK", "", Source::kFieldValue, kBothWays)
        .By(From::kLinkRate)
        .OfLink(),
    FieldRow("DEV_NVLINK_TX_THROUGHPUT_PER_LINK", "", Source::kFieldValue, kSent)
        .By(From::kLinkRate)
        .OfLink(),
    FieldRow("DEV_NVLINK_RX_THROUGHPUT_PER_LINK", "", Source::kFieldValue, kReceived)
        .By(From::kLinkRate)
        .OfLink(),
    FieldRow("PROF_NVLINK_TX_BYTES_PER_LINK", "", Source::kFieldValue,
             NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC)
        .By(From::kGpm)
        .Times(kMib)
        .OfLink(),
    FieldRow("PROF_NVLINK_RX_BYTES_PER_LINK", "", Source::kFieldValue,
             NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC)
        .By(From::kGpm)
        .Times(kMib)
        .OfLink(),
});

constexpr auto kLinkRows = std::to_array<FieldRow>({
    FieldRow("DEV_NVLINK_CRC_FLIT_ERROR_L{}_TOTAL", "DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L{}",
             Source::kNvLinkErrors, NVML_NVLINK_ERROR_DL_CRC_FLIT),
    FieldRow("DEV_NVLINK_CRC_DATA_ERROR_L{}_TOTAL", "DEV_NVLINK_CRC_DATA_ERROR_COUNT_L{}",
             Source::kNvLinkErrors, NVML_NVLINK_ERROR_DL_CRC_DATA),
    FieldRow("DEV_NVLINK_REPLAY_ERROR_L{}_TOTAL", "DEV_NVLINK_REPLAY_ERROR_COUNT_L{}",
             Source::kNvLinkErrors, NVML_NVLINK_ERROR_DL_REPLAY),
    FieldRow("DEV_NVLINK_RECOVERY_ERROR_L{}_TOTAL", "DEV_NVLINK_RECOVERY_ERROR_COUNT_L{}",
             Source::kNvLinkErrors, NVML_NVLINK_ERROR_DL_RECOVERY),
    FieldRow("DEV_NVLINK_THROUGHPUT_L{}", "DEV_NVLINK_BANDWIDTH_L{}", Source::kFieldValue,
             kBothWays)
        .By(From::kLinkRate),
    FieldRow("DEV_NVLINK_TX_THROUGHPUT_L{}", "DEV_NVLINK_TX_BANDWIDTH_L{}", Source::kFieldValue,
             kSent)
        .By(From::kLinkRate),
    FieldRow("DEV_NVLINK_RX_THROUGHPUT_L{}", "DEV_NVLINK_RX_BANDWIDTH_L{}", Source::kFieldValue,
             kReceived)
        .By(From::kLinkRate),
    FieldRow("PROF_NVLINK_L{}_TX_BYTES", "", Source::kFieldValue,
             NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC)
        .By(From::kGpm)
        .Times(kMib),
    FieldRow("PROF_NVLINK_L{}_RX_BYTES", "", Source::kFieldValue,
             NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC)
        .By(From::kGpm)
        .Times(kMib),
});

}  // namespace

std::span<const FieldRow> NvLinkFields() { return kNvLinkRows; }
std::span<const FieldRow> LinkFields() { return kLinkRows; }

}  // namespace gantry::metrics_exporter
