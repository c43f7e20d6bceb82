// SPDX-License-Identifier: Apache-2.0
#include "policy/taints.h"

#include <gtest/gtest.h>

namespace gantry::policy {
namespace {

TEST(Taints, ThoseThatGoByThemselves) {
  for (const char* key :
       {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
        "karpenter.sh/unregistered", "cloud.google.com/impending-node-termination",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "startup-taint.cluster-autoscaler.kubernetes.io/gpu",
        "aws-node-termination-handler/spot-itn", "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready"}) {
    EXPECT_TRUE(PassesByItself(key)) << key;
  }
}

TEST(Taints, ThoseThatStay) {
  for (const char* key : {"", "nvidia.com/gpu", "team", "karpenter.sh/capacity-type",
                          "node.kubernetes.io/unschedulable"}) {
    EXPECT_FALSE(PassesByItself(key)) << key;
  }
}

}  // namespace
}  // namespace gantry::policy
