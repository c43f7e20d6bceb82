// SPDX-License-Identifier: Apache-2.0
#include "doctor/mig_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/policy_facts.h"
#include "doctor/status_table.h"
#include "doctor/testing/gpu_node.h"

namespace gantry::doctor {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using MigFindings = GpuNodeTest;

TEST_F(MigFindings, AMigLayoutThatNobodyMakes) {
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("migManager"));
  node().labels["nvidia.com/mig.capable"] = "false";
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  EXPECT_THAT(Examined()[0].remedy, HasSubstr("nvidia.com/mig.config-"));
  node().labels["nvidia.com/mig.config"] = "all-disabled";
  EXPECT_EQ(CodeOf(), "");
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  node().labels[kMigState] = "success";
  EXPECT_EQ(CodeOf(), "");
  node().labels.erase(kMigState);
  // Who may not see DaemonSets does not know.
  cluster_.unread = {
      {.what = kDaemonSetsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_EQ(CodeOf(), "");
  cluster_.unread = {};
  cluster_.operands = {{.name = "nvidia-mig-manager",
                        .choice = {.labels = {{"nvidia.com/gpu.deploy.mig-manager", "true"}}}}};
  EXPECT_EQ(CodeOf(), "MigNotManaged");
  node().labels["nvidia.com/gpu.deploy.mig-manager"] = "true";
  EXPECT_EQ(CodeOf(), "");
}

TEST_F(MigFindings, LabelsOfItsGpus) {
  node().labels["nvidia.com/gpu.product"] = "A100-MIG-INVALID";
  EXPECT_EQ(CodeOf(), "MigLayoutsDiffer");
  // The plugin offers none of them.
  node().labels["nvidia.com/gpu.validation"] = "NoGpuAllocatable";
  EXPECT_EQ(CodeOf(), "MigLayoutsDiffer");
  node().labels["nvidia.com/gpu.validation"] = "DriverHangs";
  EXPECT_EQ(CodeOf(), "DriverHangs");
  node().labels["nvidia.com/gpu.validation"] = "ready";
  node().labels.erase("nvidia.com/gpu.product");
  EXPECT_EQ(CodeOf(), "LabelsMissing");
  EXPECT_EQ(StageName(node(), Stage()), "labels");
  // Nobody is to make them.
  node().labels.erase("nvidia.com/gpu.deploy.gpu-feature-discovery");
  EXPECT_THAT(Examined(), IsEmpty());
  node().labels.erase("nvidia.com/gpu.validation");
  EXPECT_EQ(StageName(node(), Stage()), "validation");
}

TEST_F(MigFindings, AMigLayoutThatIsChanged) {
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  // GPUs are away while it is changed.
  node().capacity = {};
  node().allocatable = {};
  for (const char* state : {"pending", "rebooting"}) {
    Write(node(), kMigState, state, minutes(14));
    EXPECT_THAT(Examined(), IsEmpty()) << state;
    EXPECT_EQ(StageName(node(), Stage()), std::string("MIG ") + state);
    Write(node(), kMigState, state, minutes(16));
    EXPECT_EQ(CodeOf(), "MigChangeStuck") << state;
  }
  // Since when is not known.
  node().written.clear();
  EXPECT_THAT(Examined(), IsEmpty());
  Write(node(), kMigState, "pending", minutes(600));
  node().holders = {"default/train"};
  EXPECT_EQ(CodeOf(), "MigChangeWaits");
  EXPECT_EQ(Examined()[0].severity, Severity::kNote);
  EXPECT_THAT(Examined()[0].message, HasSubstr("all-1g.10gb"));
  EXPECT_THAT(Examined()[0].message, HasSubstr("default/train"));
  Write(node(), kMigState, "failed", minutes(0));
  EXPECT_EQ(CodeOf(), "MigChangeFailed");
  EXPECT_THAT(Examined()[0].message, HasSubstr("default/train"));
}

TEST_F(MigFindings, WhoHoldsUpALayoutIsWhatTheOperatorSays) {
  node().labels["nvidia.com/mig.config"] = "all-1g.10gb";
  node().mig_held = "all-1g.10gb: in use since yesterday by pod default/train; given up at noon";
  node().mig_held_since = "2026-01-02T03:04:05Z";
  Write(node(), kMigState, "pending", minutes(600));
  EXPECT_EQ(CodeOf(), "MigChangeWaits");
  EXPECT_THAT(Examined()[0].message, HasSubstr(node().mig_held));
  Write(node(), kMigState, "failed", minutes(600));
  EXPECT_EQ(CodeOf(), "MigChangeFailed");
  EXPECT_THAT(Examined()[0].message, HasSubstr(node().mig_held));
  EXPECT_THAT(StatusText(cluster_), HasSubstr("\nMIG changes\n"));
  EXPECT_THAT(StatusText(cluster_), HasSubstr("failed  2026-01-02T03:04:05Z  " + node().mig_held));
  Write(node(), kMigState, "success", minutes(0));
  EXPECT_THAT(Examined(), IsEmpty());
}

TEST_F(MigFindings, AMigLayoutThatWasChanged) {
  Write(node(), kMigState, "success", minutes(600));
  EXPECT_THAT(Examined(), IsEmpty());
  EXPECT_EQ(StageName(node(), Stage()), "ready");
}

}  // namespace
}  // namespace gantry::doctor
