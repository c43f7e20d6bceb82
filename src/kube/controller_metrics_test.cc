// SPDX-License-Identifier: Apache-2.0
#include "kube/controller_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gantry::kube {
namespace {

using testing::HasSubstr;

TEST(ControllerMetrics, HaveControllerRuntimesNames) {
  ControllerMetrics nodes{.name = "nodes",
                          .workers = 4,
                          .active = 1,
                          .waiting = 7,
                          .successes = 5,
                          .retries = 2,
                          .errors = 3};
  nodes.seconds.Observe(0.02);
  const std::vector<ControllerMetrics> controllers = {{.name = "cluster", .workers = 1}, nodes};
  const std::string text = FormatMetrics(controllers);
  for (const char* line : {
           R"(controller_runtime_reconcile_total{controller="nodes",result="success"} 5)",
           R"(controller_runtime_reconcile_total{controller="nodes",result="requeue_after"} 2)",
           R"(controller_runtime_reconcile_total{controller="nodes",result="error"} 3)",
           R"(controller_runtime_reconcile_total{controller="cluster",result="error"} 0)",
           R"(controller_runtime_reconcile_errors_total{controller="nodes"} 3)",
           R"(controller_runtime_max_concurrent_reconciles{controller="nodes"} 4)",
           R"(controller_runtime_active_workers{controller="nodes"} 1)",
           R"(workqueue_depth{name="nodes"} 7)",
           R"(controller_runtime_reconcile_time_seconds_bucket{controller="nodes",le="0.01"} 0)",
           R"(controller_runtime_reconcile_time_seconds_bucket{controller="nodes",le="0.025"} 1)",
           R"(controller_runtime_reconcile_time_seconds_count{controller="cluster"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

// A parser of the format refuses a second TYPE line of the same name.
TEST(ControllerMetrics, EachNameHasOneHeading) {
  const std::vector<ControllerMetrics> controllers = {{.name = "a"}, {.name = "b"}};
  const std::string text = FormatMetrics(controllers);
  const std::string heading = "# TYPE controller_runtime_reconcile_time_seconds histogram\n";
  EXPECT_EQ(text.find(heading), text.rfind(heading));
}

}  // namespace
}  // namespace gantry::kube
