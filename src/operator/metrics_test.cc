// SPDX-License-Identifier: Apache-2.0

#include "operator/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Metrics, HaveNvidiasNames) {
  Metrics metrics;
  metrics.gpu_nodes = 2;
  EXPECT_THAT(FormatMetrics(metrics),
              AllOf(HasSubstr("\ngpu_operator_gpu_nodes_total 2\n"),
                    HasSubstr("# TYPE gpu_operator_reconciliation_status")));
  metrics.nfd.started = 7;
  metrics.nfd.rejected_labels = 3;
  metrics.nfd.rule_seconds.Observe(0.0002);
  EXPECT_THAT(FormatMetrics(metrics),
              AllOf(HasSubstr("\nnfd_master_build_info{version=\"" GANTRY_VERSION "\"} 7\n"),
                    HasSubstr("\nnfd_master_node_labels_rejected_total 3\n"),
                    HasSubstr("\nnfd_master_nodefeaturerule_processing_duration_seconds_count 1\n"),
                    HasSubstr("\nnfd_gc_objects_deleted_total 0\n")));
  metrics.auto_upgrade = true;
  metrics.upgrades = {
      .total = 21, .done = 6, .pending = 5, .in_progress = 4, .failed = 3, .available = 2};
  const std::string text = FormatMetrics(metrics);
  EXPECT_THAT(text, HasSubstr("# TYPE gpu_operator_reconciliation_status"));
  for (const char* line :
       {"gpu_nodes_total 2", "driver_auto_upgrade_enabled 1", "nodes_upgrades_done 6",
        "nodes_upgrades_pending 5", "nodes_upgrades_in_progress 4", "nodes_upgrades_failed 3",
        "nodes_upgrades_available 2"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\ngpu_operator_") + line + "\n"));
  }
}

TEST(Metrics, TheLeaderIsToldUnderItsLeasesName) {
  EXPECT_THAT(FormatLeader(true),
              HasSubstr("\nleader_election_master_status{name=\"53822513.nvidia.com\"} 1\n"));
  EXPECT_THAT(FormatLeader(false), HasSubstr("} 0\n"));
}

TEST(Metrics, ReadyIsTheOnlySuccess) {
  const WallTime now{std::chrono::seconds(7)};
  Metrics metrics;
  metrics.Judged(true, now);
  metrics.Judged(false, now + std::chrono::seconds(1));
  EXPECT_EQ(metrics.status, 0);
  EXPECT_EQ(metrics.failures, 1);
  EXPECT_EQ(metrics.last_success_seconds, 7);
  metrics.Judged(true, now);
  EXPECT_EQ(metrics.status, 1);
  EXPECT_EQ(metrics.failures, 1);
}

}  // namespace
}  // namespace gantry::gpu_operator
