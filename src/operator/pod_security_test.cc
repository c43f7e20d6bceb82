// SPDX-License-Identifier: Apache-2.0

#include "operator/pod_security.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

constexpr char kPrefix[] = "pod-security.kubernetes.io/";

TEST(PodSecurity, OnlyWhatIsMissingIsWritten) {
  Labels labels = {{"a", "b"}, {std::string(kPrefix) + "enforce", "restricted"}};
  Json patch = SpacePatch(labels, true, false);
  EXPECT_EQ(patch["metadata"]["labels"], (Json{{std::string(kPrefix) + "enforce", "privileged"},
                                               {std::string(kPrefix) + "audit", "privileged"},
                                               {std::string(kPrefix) + "warn", "privileged"}}));
  for (const auto& [key, value] : patch["metadata"]["labels"].items()) {
    labels[key] = value.get<std::string>();
  }
  EXPECT_TRUE(SpacePatch(labels, true, false).is_null());
}

TEST(PodSecurity, OpenShiftsPrometheusMayLookIn) {
  constexpr char kMonitoring[] = "openshift.io/cluster-monitoring";
  EXPECT_EQ(SpacePatch({}, false, true),
            (Json{{"metadata", {{"labels", {{kMonitoring, "true"}}}}}}));
  EXPECT_TRUE(SpacePatch({{kMonitoring, "false"}}, false, true).is_null());
  EXPECT_TRUE(SpacePatch({}, false, false).is_null());
}

}  // namespace
}  // namespace gantry::gpu_operator
