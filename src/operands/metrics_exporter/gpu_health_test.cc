// SPDX-License-Identifier: Apache-2.0
#include "operands/metrics_exporter/gpu_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::metrics_exporter {
namespace {

using std::chrono::seconds;

class Health : public testing::Test {
 protected:
  void LookAt(int second) { health_.Look(readings_, SteadyTime() + seconds(second)); }
  // "MEM 20 DCGM_FR_...": those that don't pass.
  std::string Text() const {
    std::vector<std::string> lines;
    const auto watches = health_.Watches();
    for (size_t i = 0; i < watches.size(); ++i) {
      if (watches[i] != WatchState()) {
        lines.push_back(format("{} {} {}", WatchName(static_cast<Watch>(i)),
                               static_cast<int>(watches[i].verdict), watches[i].code));
      }
    }
    return Join(lines, "; ");
  }
  // After one look.
  std::string Of(const HealthReadings& readings) {
    health_ = {};
    readings_ = readings;
    LookAt(0);
    return Text();
  }

  HealthReadings readings_;
  GpuHealth health_;
};

TEST_F(Health, PassesWithoutAnythingKnown) {
  EXPECT_EQ(Text(), "");
  EXPECT_EQ(Of({}), "");
  EXPECT_EQ(health_.Watches()[0].code, "DCGM_FR_OK");
}

TEST_F(Health, JudgesByLimits) {
  struct Row {
    HealthReadings readings;
    const char* text;
  };
  const Row rows[] = {
      {{.double_bit_errors = 1}, "MEM 20 DCGM_FR_VOLATILE_DBE_DETECTED"},
      {{.retired_single = 60, .retired_double = 3}, "MEM 20 DCGM_FR_RETIRED_PAGES_LIMIT"},
      {{.retired_single = 59, .retired_double = 3}, ""},
      {{.retirement_pending = 1}, "MEM 10 DCGM_FR_PENDING_PAGE_RETIREMENTS"},
      {{.remapped_uncorrectable = 511}, ""},
      {{.remapped_uncorrectable = 512}, "MEM 10 DCGM_FR_UNCORRECTABLE_ROW_REMAP"},
      {{.retirement_pending = 1, .remap_failed = 1}, "MEM 20 DCGM_FR_ROW_REMAP_FAILURE"},
      {{.inforom_valid = 0}, "INFOROM 10 DCGM_FR_CORRUPT_INFOROM"},
      {{.inforom_valid = 1}, ""},
      {{.power_unreadable = true}, "POWER 10 DCGM_FR_POWER_UNREADABLE"},
      {{.recovery_action = 0}, ""},
      {{.recovery_action = 1}, "DRIVER 20 DCGM_FR_GPU_RECOVERY_RESET"},
      {{.recovery_action = 3}, "DRIVER 10 DCGM_FR_GPU_RECOVERY_DRAIN_P2P"},
      {{.recovery_action = 7}, "DRIVER 20 DCGM_FR_GPU_RECOVERY_REBOOT"},
      {{.links_inactive = 2}, "NVLINK 20 DCGM_FR_NVLINK_DOWN"},
      {{.fabric_state = 2}, "NVLINK 10 DCGM_FR_FABRIC_MANAGER_TRAINING_ERROR"},
      {{.fabric_state = 3, .fabric_status = 999},
       "NVLINK 20 DCGM_FR_FABRIC_MANAGER_TRAINING_ERROR"},
      // Each part: not supported, or healthy.
      {{.fabric_state = 3, .fabric_health = 0x1aa}, ""},
      {{.fabric_state = 3, .fabric_health = 0x1a6},
       "NVLINK 20 DCGM_FR_FABRIC_MANAGER_TRAINING_ERROR"},
      {{.fabric_state = 3, .fabric_health = 0x2aa},
       "NVLINK 20 DCGM_FR_FABRIC_MANAGER_TRAINING_ERROR"},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(Of(rows[i].readings), rows[i].text) << "row " << i;
  }
}

TEST_F(Health, JudgesByTheGrowthOfAMinute) {
  readings_ = {.pcie_replays = 100, .pcie_generation = 4, .pcie_width = 16, .thermal_violation = 5};
  LookAt(0);
  EXPECT_EQ(Text(), "") << "what was before says nothing";
  readings_.pcie_replays = 116;  // 16 lanes of 0.96
  LookAt(30);
  EXPECT_EQ(Text(), "");
  readings_.pcie_replays = 117;
  readings_.thermal_violation = 6;
  LookAt(40);
  EXPECT_EQ(Text(), "PCIE 10 DCGM_FR_PCI_REPLAY_RATE; THERMAL 10 DCGM_FR_CLOCK_THROTTLE_THERMAL");
  LookAt(89);
  EXPECT_EQ(Text(), "PCIE 10 DCGM_FR_PCI_REPLAY_RATE; THERMAL 10 DCGM_FR_CLOCK_THROTTLE_THERMAL");
  LookAt(101);
  EXPECT_EQ(Text(), "");
}

TEST_F(Health, JudgesLinksByTheirErrors) {
  readings_ = {.link_crc_flit = 10, .link_crc_data = 0, .link_replays = 1};
  LookAt(0);
  readings_.link_crc_flit = 11;
  LookAt(10);
  EXPECT_EQ(Text(), "NVLINK 10 DCGM_FR_NVLINK_ERROR_THRESHOLD");
  readings_.link_crc_data = 6000;
  LookAt(20);
  EXPECT_EQ(Text(), "NVLINK 20 DCGM_FR_NVLINK_CRC_ERROR_THRESHOLD");
  readings_ = {.link_replays = 2};
  LookAt(30);
  EXPECT_EQ(Text(), "NVLINK 20 DCGM_FR_NVLINK_ERROR_CRITICAL");
}

TEST_F(Health, ManyPagesRetiredInAWeek) {
  readings_ = {.retired_double = 14};
  LookAt(0);
  readings_.retired_double = 16;
  LookAt(3600);
  EXPECT_EQ(Text(), "MEM 20 DCGM_FR_RETIRED_PAGES_DBE_LIMIT");
  LookAt(3600 + 7 * 24 * 3600);
  EXPECT_EQ(Text(), "");
}

TEST_F(Health, XidsCountUntilAReset) {
  struct Row {
    uint64_t xid;
    const char* text;
  };
  for (const Row& row :
       {Row{79, "ALL 20 DCGM_FR_FALLEN_OFF_BUS"}, Row{94, "ALL 10 DCGM_FR_CONTAINED_ERROR"},
        Row{95, "ALL 20 DCGM_FR_UNCONTAINED_ERROR"}, Row{119, "ALL 20 DCGM_FR_XID_ERROR"},
        Row{31, "MEM 10 DCGM_FR_XID_ERROR"}, Row{64, "MEM 20 DCGM_FR_ROW_REMAP_FAILURE"},
        Row{42, "PCIE 10 DCGM_FR_PCI_REPLAY_RATE"},
        Row{62, "THERMAL 10 DCGM_FR_THERMAL_VIOLATIONS"}, Row{13, ""}, Row{93, ""}}) {
    health_ = {};
    health_.OnXid(row.xid);
    LookAt(0);
    EXPECT_EQ(Text(), row.text) << row.xid;
  }
  readings_.compute_capability = 7 * 65536;  // Volta
  LookAt(1);
  EXPECT_EQ(Text(), "INFOROM 10 DCGM_FR_CORRUPT_INFOROM");
  health_.Reset();
  LookAt(2);
  EXPECT_EQ(Text(), "");
}

}  // namespace
}  // namespace gantry::metrics_exporter
