// SPDX-License-Identifier: Apache-2.0

#include "operator/pod_security.h"

#include <gtest/gtest.h>

namespace gantry::gpu_operator {
namespace {

constexpr char kPrefix[] = "pod-security.kubernetes.io/";

TEST(PodSecurity, OnlyWhatIsMissingIsWritten) {
  NamespaceFacts ns{.labels = {{"a", "b"}, {std::string(kPrefix) + "enforce", "restricted"}},
                    .earlier = {}};
  const Json patch = NamespacePatch(ns, true, false);
  EXPECT_EQ(patch["metadata"]["labels"], (Json{{std::string(kPrefix) + "enforce", "privileged"},
                                               {std::string(kPrefix) + "audit", "privileged"},
                                               {std::string(kPrefix) + "warn", "privileged"}}));
  for (const auto& [key, value] : patch["metadata"]["labels"].items()) {
    ns.labels[key] = value.get<std::string>();
  }
  EXPECT_TRUE(NamespacePatch(ns, true, false).is_null());
}

TEST(PodSecurity, WhatTheLabelsWereIsRememberedAndComesBack) {
  const std::string enforce = std::string(kPrefix) + "enforce";
  const std::string warn = std::string(kPrefix) + "warn";
  const std::string audit = std::string(kPrefix) + "audit";
  Json ns = {{"metadata", {{"labels", {{enforce, "baseline"}, {warn, "restricted"}, {"a", "b"}}}}}};
  const Json before = ns;
  EXPECT_TRUE(NamespaceRestored(NamespaceFrom(ns)).is_null());
  ns.merge_patch(NamespacePatch(NamespaceFrom(ns), true, false));
  // Somebody takes one back meanwhile: what is remembered is what was there first.
  ns["metadata"]["labels"][enforce] = "restricted";
  ns.merge_patch(NamespacePatch(NamespaceFrom(ns), true, false));
  Json restored = ns;
  restored.merge_patch(NamespaceRestored(NamespaceFrom(ns)));
  EXPECT_EQ(restored["metadata"]["labels"], before["metadata"]["labels"]);
  EXPECT_TRUE(restored["metadata"]["annotations"].empty());
  // What somebody has changed since is his.
  ns["metadata"]["labels"][warn] = "baseline";
  ns.merge_patch(NamespaceRestored(NamespaceFrom(ns)));
  EXPECT_EQ(ns["metadata"]["labels"],
            (Json{{enforce, "baseline"}, {warn, "baseline"}, {"a", "b"}}));
}

TEST(PodSecurity, OpenShiftsPrometheusMayLookIn) {
  constexpr char kMonitoring[] = "openshift.io/cluster-monitoring";
  EXPECT_EQ(NamespacePatch({}, false, true)["metadata"]["labels"], (Json{{kMonitoring, "true"}}));
  EXPECT_TRUE(
      NamespacePatch({.labels = {{kMonitoring, "false"}}, .earlier = {}}, false, true).is_null());
  EXPECT_TRUE(NamespacePatch({}, false, false).is_null());
}

}  // namespace
}  // namespace gantry::gpu_operator
