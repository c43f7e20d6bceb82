// SPDX-License-Identifier: Apache-2.0

#include "operator/cluster_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/mig_holders.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Json kDefault =
    Json::array({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});

NodeFacts GpuNode() {
  NodeFacts node;
  node.labels = PackLabels({{"nvidia.com/gpu.present", "true"},
                            {"nvidia.com/gpu.deploy.device-plugin", "true"},
                            {"nvidia.com/gpu.deploy.dcgm", "false"}});
  node.described = node.linux = node.ready = node.gpu_allocatable = true;
  node.runtime = "containerd";
  return node;
}

// With validators that say no more than a word.
ClusterFacts FactsOf(const NamedNodes& nodes) {
  return Summarize(nodes, kDefault, [](const std::string&) { return ""; });
}

TEST(ClusterFacts, NodesWhoseDraDriverOffersNothingAreKnown) {
  NodeFacts node = GpuNode();
  node.labels += "nvidia.com/gpu.deploy.dra-driver=true\n";
  NodeFacts away = node;
  away.ready = false;
  const NodeFacts other = GpuNode();
  const ClusterFacts facts =
      Summarize({{"a", &node}, {"b", &node}, {"away", &away}, {"other", &other}}, kDefault,
                [](const std::string&) { return ""; }, {"b"});
  EXPECT_THAT(facts.gpu_without_device, ElementsAre("a"));
}

TEST(ClusterFacts, Op1469_NodesThatHadGpusAreKnown) {
  NodeFacts gone;
  gone.labels = PackLabels({{"nvidia.com/gpu.present", "false"}});
  const NodeFacts never;
  const NodeFacts gpus = GpuNode();
  const ClusterFacts facts = FactsOf({{"b", &gone}, {"a", &gone}, {"never", &never}, {"g", &gpus}});
  EXPECT_THAT(facts.gpus_gone, ElementsAre("a", "b"));
  EXPECT_EQ(facts.gpu_nodes, 1);
}

TEST(ClusterFacts, CountsNodesAndWhereDaemonSetsShouldBe) {
  const NodeFacts plain = [] {
    NodeFacts node;
    node.linux = node.ready = true;
    return node;
  }();
  NodeFacts away = GpuNode();
  away.ready = false;
  away.taints = {{"node.kubernetes.io/unreachable", "", "NoSchedule"}};
  NodeFacts waiting = GpuNode();
  waiting.gpu_allocatable = false;
  NodeFacts tainted = GpuNode();
  tainted.taints = {{"team", "ml", "NoSchedule"}};
  NodeFacts good = GpuNode();
  good.labels += "nvidia.com/gpu.validation=ready\nnvidia.com/mps.capable=true\n";
  const std::string validated = "nvidia.com/gpu.deploy.operator-validator=true\n";
  good.labels += validated;
  waiting.labels +=
      validated + "nvidia.com/gpu.validation=DriverHangs\nnvidia.com/mps.capable=false\n";
  // No validator comes to it any more; what one said last has stayed.
  tainted.labels += "nvidia.com/gpu.validation=DriverMissing\nnvidia.com/mps.capable=true\n";
  const ClusterFacts facts = FactsOf({{"z", &waiting},
                                      {"plain", &plain},
                                      {"away", &away},
                                      {"tainted", &tainted},
                                      {"good", &good}});
  EXPECT_EQ(facts.nodes, 5);
  EXPECT_EQ(facts.gpu_nodes, 4);
  EXPECT_EQ(facts.described, 4);
  EXPECT_THAT(facts.undescribed, ElementsAre("plain"));
  EXPECT_THAT(facts.gpu_not_ready, ElementsAre("away"));
  EXPECT_THAT(facts.gpu_without_resource, ElementsAre("z"));
  EXPECT_THAT(facts.not_validated, ElementsAre("z (DriverHangs)"));
  EXPECT_THAT(Summarize({{"z", &waiting}, {"good", &good}}, kDefault,
                        [](const std::string& object) { return object + " hangs"; })
                  .not_validated,
              ElementsAre("z (DriverHangs: nvidia-validation-for-z hangs)"));
  EXPECT_THAT(facts.untolerated, ElementsAre("tainted: team=ml:NoSchedule"));
  EXPECT_EQ(facts.expected.at("device-plugin"), 2);
  EXPECT_EQ(facts.labelled.at("device-plugin"), 4);
  EXPECT_EQ(facts.expected.at("mps-control-daemon"), 1);
  EXPECT_EQ(facts.labelled.at("mps-control-daemon"), 2);
  EXPECT_FALSE(facts.expected.contains("dcgm"));
  EXPECT_EQ(RuntimeFor(facts, ""), "containerd");
}

TEST(ClusterFacts, NodesForVirtualMachinesThatAreNotReadyAreNamed) {
  NodeFacts node = GpuNode();
  node.labels +=
      "nvidia.com/gpu.deploy.sandbox-validator=true\nnvidia.com/gpu.validation=GpuNotBoundToVfio\n";
  const ClusterFacts facts = FactsOf({{"vms", &node}});
  EXPECT_THAT(facts.vms_not_validated, ElementsAre("vms (GpuNotBoundToVfio)"));
  EXPECT_TRUE(facts.not_validated.empty());
}

TEST(ClusterFacts, NodesThatAreNotDividedAsAskedAreNamed) {
  NodeFacts failed = GpuNode();
  failed.labels += "nvidia.com/mig.config=all-1g.10gb\nnvidia.com/mig.config.state=failed\n";
  const NodeFacts unmanaged = failed;
  failed.labels += "nvidia.com/gpu.deploy.mig-manager=true\n";
  NodeFacts away = failed;
  away.ready = false;
  NodeFacts pending = GpuNode();
  pending.labels += "nvidia.com/mig.config.state=pending\nnvidia.com/gpu.deploy.mig-manager=true\n";
  const NamedNodes nodes = {
      {"b", &failed}, {"a", &failed}, {"u", &unmanaged}, {"w", &away}, {"p", &pending}};
  EXPECT_THAT(FactsOf(nodes).mig_failed, ElementsAre("a (all-1g.10gb)", "b (all-1g.10gb)"));
  const auto message = [](const std::string& object) {
    return object == "nvidia-mig-for-a" ? "pod default/train" : "";
  };
  EXPECT_THAT(Summarize(nodes, kDefault, message).mig_failed,
              ElementsAre("a (all-1g.10gb: pod default/train)", "b (all-1g.10gb)"));
}

TEST(ClusterFacts, NodesWhoseGpusAreHeldSayWhatTheOperatorHasDecided) {
  NodeFacts failed = GpuNode();
  failed.labels += "nvidia.com/gpu.deploy.mig-manager=true\nnvidia.com/mig.config=a\n";
  failed.labels += "nvidia.com/gpu.deploy.operator-validator=true\n";
  failed.labels += "nvidia.com/gpu.validation=NoGpuAllocatable\n";
  failed.mig_holders_step = policy::FormatMigHoldersStep({.layout = "a", .message = "a: in use"});
  failed.gpu_allocatable = false;
  NodeFacts waits = failed;
  failed.labels += "nvidia.com/mig.config.state=failed\n";
  waits.labels += "nvidia.com/mig.config.state=pending\n";
  const ClusterFacts facts = FactsOf({{"f", &failed}, {"w", &waits}});
  EXPECT_THAT(facts.mig_failed, ElementsAre("f (a: in use)"));
  EXPECT_THAT(facts.mig_waits, ElementsAre("w (a: in use)"));
  EXPECT_THAT(facts.gpu_without_resource, ElementsAre("f")) << "those of w are withdrawn";
  EXPECT_THAT(facts.not_validated, ElementsAre("f (NoGpuAllocatable)"));
}

TEST(ClusterFacts, VersionsOfRhcosAreThoseOfAllNodes) {
  const auto node = [](const char* version, const char* rhcos) {
    NodeFacts facts = GpuNode();
    facts.labels += format("{}=rhcos\n{}={}\n{}={}\n", names::kSystemId, names::kSystemVersion,
                           version, names::kRhcosVersion, rhcos);
    return facts;
  };
  const NodeFacts one = node("4.13", "413.92");
  const NodeFacts two = node("4.14", "414.92");
  const ClusterFacts facts = FactsOf({{"a", &one}, {"b", &two}, {"c", &one}});
  EXPECT_TRUE(facts.system_known);
  EXPECT_EQ(facts.rhcos, (std::vector<std::string>{"413.92", "414.92"}));
  const NodeFacts silent = GpuNode();
  EXPECT_FALSE(FactsOf({{"a", &silent}}).system_known);
}

// Some of NVIDIA's images are for all minor versions of a system.
TEST(ClusterFacts, SystemsAreCalledAsTheImagesAre) {
  EXPECT_EQ(SystemTag("rhel", "8.10"), "rhel8");
  EXPECT_EQ(SystemTag("rhel", "9.4"), "rhel9");
  EXPECT_EQ(SystemTag("rhel", "10.1"), "rhel10");
  EXPECT_EQ(SystemTag("rocky", "9.4"), "rocky9");
  EXPECT_EQ(SystemTag("ol", "9.4"), "ol9");
  EXPECT_EQ(SystemTag("sles", "15.6"), "sles15.6");
  EXPECT_EQ(SystemTag("rhcos", "4.18"), "rhcos4.18");
}

TEST(ClusterFacts, TolerationsAreKubernetes) {
  const auto blocked = [](const Taint& taint, const Json& tolerations) {
    return Untolerated({taint}, tolerations) != nullptr;
  };
  const Taint gpu{"nvidia.com/gpu", "true", "NoSchedule"};
  EXPECT_FALSE(blocked(gpu, kDefault));
  EXPECT_TRUE(blocked({"nvidia.com/gpu", "true", "NoExecute"}, kDefault));
  EXPECT_TRUE(blocked(gpu, Json::array()));
  EXPECT_FALSE(blocked({"k", "v", "PreferNoSchedule"}, Json::array()));
  EXPECT_FALSE(blocked(gpu, Json::array({{{"operator", "Exists"}}})));
  EXPECT_FALSE(blocked(gpu, Json::array({{{"key", "nvidia.com/gpu"}, {"value", "true"}}})));
  EXPECT_TRUE(blocked(gpu, Json::array({{{"key", "nvidia.com/gpu"}, {"value", "no"}}})));
  EXPECT_TRUE(blocked(gpu, Json::array({{{"key", "other"}, {"operator", "Exists"}}})));
  // Added to DaemonSet pods by their controller.
  EXPECT_FALSE(blocked({"node.kubernetes.io/unschedulable", "", "NoSchedule"}, Json::array()));
  EXPECT_FALSE(blocked({"node.kubernetes.io/not-ready", "", "NoExecute"}, Json::array()));
  EXPECT_TRUE(blocked({"node.kubernetes.io/not-ready", "", "NoSchedule"}, Json::array()));
}

// A node that an autoscaler takes away needs no toleration, and is to have no operand either.
TEST(ClusterFacts, TaintsThatGoByThemselvesAreNoMatterOfTolerations) {
  for (const char* key : {"ToBeDeletedByClusterAutoscaler", "node.cilium.io/agent-not-ready",
                          "node.kubernetes.io/unreachable"}) {
    NodeFacts leaving = GpuNode();
    leaving.taints = {{key, "", "NoSchedule"}};
    const ClusterFacts facts = FactsOf({{"leaving", &leaving}});
    EXPECT_THAT(facts.untolerated, IsEmpty()) << key;
    EXPECT_FALSE(facts.expected.contains("device-plugin")) << key;
  }
}

// What is set up for one runtime is not set up anew for another because a node joins.
TEST(ClusterFacts, TheRuntimeIsThatOfTheGpuNodes) {
  const auto runtime = [](std::initializer_list<const char*> runtimes,
                          std::string_view there = "") {
    std::vector<NodeFacts> nodes;
    for (const char* name : runtimes) {
      nodes.push_back(GpuNode());
      nodes.back().runtime = name;
    }
    NamedNodes named;
    for (const NodeFacts& node : nodes) {
      named.emplace_back("n", &node);
    }
    return RuntimeFor(FactsOf(named), there);
  };
  EXPECT_EQ(runtime({}), "containerd");
  EXPECT_EQ(runtime({"cri-o", "containerd"}), "containerd");
  EXPECT_EQ(runtime({"cri-o", "docker"}), "crio");
  EXPECT_EQ(runtime({"docker"}), "docker");
  EXPECT_EQ(runtime({"other"}), "containerd");
  EXPECT_EQ(runtime({"cri-o", "containerd"}, "crio"), "crio");
  EXPECT_EQ(runtime({"containerd", "containerd"}, "crio"), "containerd") << "none has it any more";
  NodeFacts with_crio = GpuNode();
  with_crio.runtime = "cri-o";
  const NodeFacts with_containerd = GpuNode();
  const ClusterFacts both = FactsOf({{"a", &with_crio}, {"b", &with_containerd}});
  EXPECT_THAT(OtherRuntimes(both, "containerd"), ElementsAre("a (crio)"));
  EXPECT_THAT(OtherRuntimes(both, "crio"), ElementsAre("b (containerd)"));
  NodeFacts foreign;
  foreign.foreign_nfd = true;
  EXPECT_TRUE(FactsOf({{"n", &foreign}}).foreign_nfd);
  EXPECT_THAT(FactsOf({{"n", &foreign}}).undescribed, IsEmpty());
}

}  // namespace
}  // namespace gantry::gpu_operator
