// SPDX-License-Identifier: Apache-2.0

#include "operator/daemon_set_facts.h"

#include <gtest/gtest.h>

#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

TEST(ProjectDaemonSet, PodsThatDifferInTheirNodesAloneAreUpToDate) {
  Json set = {{"metadata", {{"annotations", {{names::kNarrowed, "true"}}}}},
              {"status", {{"desiredNumberScheduled", 2}, {"updatedNumberScheduled", 0}}}};
  EXPECT_EQ(ProjectDaemonSet(set).updated, 2);
  set["metadata"].erase("annotations");
  EXPECT_EQ(ProjectDaemonSet(set).updated, 0);
}

TEST(DaemonSetFacts, AreReadFromMetadataAndStatus) {
  EXPECT_EQ(ProjectDaemonSet({{"metadata", {{"generation", 4}}},
                              {"spec", {{"updateStrategy", {{"type", "OnDelete"}}}}},
                              {"status",
                               {{"observedGeneration", 3},
                                {"desiredNumberScheduled", 5},
                                {"currentNumberScheduled", 4},
                                {"updatedNumberScheduled", 1},
                                {"numberAvailable", 2},
                                {"numberUnavailable", 3}}}}),
            (DaemonSetFacts{4, 3, 5, 1, 2, 3, true, 4}));
}

}  // namespace
}  // namespace gantry::gpu_operator
