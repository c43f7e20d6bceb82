// SPDX-License-Identifier: Apache-2.0
// What else of a GPU has to be known: why its clocks are held back, its health, whether it was
// reset, which GPUs it reaches?
#include "operands/metrics_exporter/facts.h"

#include <nvml.h>

#include <algorithm>
#include <array>
#include <functional>

#include "nvml/sample.h"

namespace gantry::metrics_exporter {
namespace {

using nvml::Reading;
using nvml::Source;

// Readings to make, and what to do with each answer.
class Questions {
 public:
  using Take = std::function<void(const nvml::Answer&)>;

  void Ask(const Reading& reading, Take take) {
    readings_.push_back(reading);
    takes_.push_back(std::move(take));
  }
  void Ask(const Reading& reading, std::optional<double>& into) {
    Ask(reading, [&into](const nvml::Answer& answer) {
      if (answer) {
        into = std::get<double>(*answer);
      }
    });
  }
  void Field(unsigned id, std::optional<double>& into, unsigned scope = 0) {
    Ask({Source::kFieldValue, id, scope}, into);
  }

  Status Read(const nvml::Library& library, const std::string& uuid) const {
    if (readings_.empty()) {
      return {};
    }
    TRY_ASSIGN(const std::vector<nvml::Answer> answers, nvml::Read(library, uuid, readings_));
    for (size_t i = 0; i < answers.size(); ++i) {
      takes_[i](answers[i]);
    }
    return {};
  }

 private:
  std::vector<Reading> readings_;
  std::vector<Take> takes_;
};

void AskMarks(Questions& questions, ResetMarks& to) {
  questions.Field(NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, to.energy);
  questions.Ask({Source::kPcieReplays}, to.replays);
  questions.Ask({Source::kFieldValue, NVML_FI_DEV_ECC_SBE_VOL_TOTAL}, to.volatile_errors);
}

void AskLinks(Questions& questions, HealthReadings& to) {
  questions.Field(NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, to.link_crc_flit);
  questions.Field(NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, to.link_crc_data);
  questions.Field(NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL, to.link_replays);
  questions.Field(NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, to.link_recoveries);
  questions.Field(NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, to.link_errors, kAllLinks);
  for (unsigned link = 0; link < kLinks; ++link) {
    questions.Ask({Source::kFieldValue, NVML_FI_DEV_NVLINK_GET_STATE, link},
                  [&to](const nvml::Answer& answer) {
                    if (answer && std::get<double>(*answer) == 0) {
                      to.links_inactive = to.links_inactive.value_or(0) + 1;
                    }
                  });
  }
  questions.Ask({Source::kFabric, nvml::kFabricState}, to.fabric_state);
  questions.Ask({Source::kFabric, nvml::kFabricStatus}, to.fabric_status);
  questions.Ask({Source::kFabric, nvml::kFabricHealth}, to.fabric_health);
}

void AskHealth(Questions& questions, HealthReadings& to) {
  questions.Ask({Source::kComputeCapability}, to.compute_capability);
  questions.Ask({Source::kPcieReplays}, to.pcie_replays);
  questions.Ask({Source::kPcieGeneration}, to.pcie_generation);
  questions.Ask({Source::kPcieWidth}, to.pcie_width);
  questions.Field(NVML_FI_DEV_ECC_DBE_VOL_TOTAL, to.double_bit_errors);
  questions.Field(NVML_FI_DEV_RETIRED_SBE, to.retired_single);
  questions.Field(NVML_FI_DEV_RETIRED_DBE, to.retired_double);
  questions.Field(NVML_FI_DEV_RETIRED_PENDING, to.retirement_pending);
  questions.Field(NVML_FI_DEV_REMAPPED_UNC, to.remapped_uncorrectable);
  questions.Field(NVML_FI_DEV_REMAPPED_FAILURE, to.remap_failed);
  questions.Ask({Source::kInforomValid}, to.inforom_valid);
  questions.Field(NVML_FI_DEV_PERF_POLICY_THERMAL, to.thermal_violation);
  questions.Field(NVML_FI_DEV_PERF_POLICY_POWER, to.power_violation);
  questions.Ask({Source::kPower}, [&to](const nvml::Answer& answer) {
    to.power_unreadable = !answer && answer.error() != ErrorKind::kUnsupported;
  });
  questions.Field(NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, to.recovery_action);
}

bool Sank(const std::optional<double>& before, const std::optional<double>& now) {
  return before && now && *now < *before;
}

}  // namespace

bool WasReset(const ResetMarks& before, const ResetMarks& now) {
  return Sank(before.energy, now.energy) || Sank(before.replays, now.replays) ||
         Sank(before.volatile_errors, now.volatile_errors);
}

std::string_view PeerStatusText(unsigned status) {
  constexpr std::array<std::string_view, 7> kTexts = {"OK",
                                                      "ChipsetNotSupported",
                                                      "GPUNotSupported",
                                                      "TopologyNotSupported",
                                                      "DisabledByRegKey",
                                                      "NotSupported",
                                                      "Unknown"};
  return kTexts.at(std::min<size_t>(status, kTexts.size() - 1));
}

FactsWanted WantedBy(const Counters& counters) {
  FactsWanted wanted;
  for (const Counter& counter : counters.metrics) {
    const From from = counter.field.from;
    wanted.clock_reasons |= from == From::kClockCount || from == From::kClockTotal;
    wanted.marks |= from == From::kXid || from == From::kHealth;
    wanted.health |= from == From::kHealth;
    wanted.peers |= from == From::kPeers;
  }
  return wanted;
}

Result<Facts> ReadFacts(const nvml::Library& library, const gpu::Gpu& gpu,
                        const std::vector<gpu::Gpu>& all, const FactsWanted& wanted) {
  Facts facts;
  Questions questions;
  if (wanted.clock_reasons) {
    questions.Ask({Source::kClocksEventReasons}, [&facts](const nvml::Answer& answer) {
      if (answer) {
        facts.clock_reasons = static_cast<uint64_t>(std::get<double>(*answer));
      }
    });
  }
  if (wanted.marks) {
    AskMarks(questions, facts.marks.emplace());
  }
  if (wanted.health) {
    AskHealth(questions, facts.health.emplace());
    if (!gpu.mig_enabled) {
      AskLinks(questions, *facts.health);
    }
  }
  TRY(questions.Read(library, gpu.uuid));
  if (wanted.peers) {
    for (const gpu::Gpu& other : all) {
      if (other.uuid == gpu.uuid) {
        continue;
      }
      if (const auto status = library.NvLinkPeerStatus(gpu.uuid, other.uuid)) {
        facts.peers.push_back({.gpu = other.index, .status = *status});
      }
    }
  }
  return facts;
}

}  // namespace gantry::metrics_exporter
