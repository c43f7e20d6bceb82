// SPDX-License-Identifier: Apache-2.0
#include "operands/node_features/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::node_features {
namespace {

TEST(WorkerMetrics, HaveNfdsNames) {
  WorkerMetrics metrics{.node = "n", .started = 7};
  metrics.discovery_seconds.Observe(0.02);
  const std::string text = FormatMetrics(metrics);
  EXPECT_THAT(text,
              testing::HasSubstr("\nnfd_worker_build_info{version=\"" GANTRY_VERSION "\"} 7\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nnfd_worker_feature_discovery_duration_seconds_bucket"
                                       "{node=\"n\",le=\"0.025\"} 1\n"));
}

}  // namespace
}  // namespace gantry::node_features
