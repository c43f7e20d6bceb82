// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_cluster.h"

#include <gmock/gmock.h>

#include "policy/cluster_policy.h"
#include "policy/operands.h"

namespace gantry::policy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json GpuCluster(Json spec) {
  return {{"apiVersion", "nvidia.com/v1alpha1"},
          {"kind", "GPUCluster"},
          {"metadata", {{"name", "gpu-cluster"}}},
          {"spec", std::move(spec)}};
}

ClusterPolicy Parsed(const Json& spec, bool drivers = false) {
  auto policy = Parse(PolicyOf(GpuCluster(spec), drivers));
  EXPECT_TRUE(policy.has_value());
  return policy.value_or(ClusterPolicy());
}

bool IsWanted(OperandId id, const ClusterPolicy& policy) { return Wanted(OperandOf(id), policy); }

TEST(GpuCluster, TheDraDriverIsInPlaceOfTheDevicePlugin) {
  const ClusterPolicy policy = Parsed({{"draDriver", Json::object()}});
  EXPECT_TRUE(IsWanted(OperandId::kDraDriver, policy));
  EXPECT_TRUE(IsWanted(OperandId::kOperatorValidation, policy));
  for (const OperandId id :
       {OperandId::kDevicePlugin, OperandId::kMpsControlDaemon, OperandId::kContainerToolkit,
        OperandId::kDriver, OperandId::kDcgm, OperandId::kDcgmExporter, OperandId::kMigManager,
        OperandId::kGpuFeatureDiscovery, OperandId::kPreRequisites}) {
    EXPECT_FALSE(IsWanted(id, policy)) << OperandOf(id).state;
  }
}

TEST(GpuCluster, AClusterPolicyHasNoDraDriver) {
  EXPECT_FALSE(IsWanted(OperandId::kDraDriver, *Parse(Json::object())));
}

TEST(GpuCluster, TheExporterIsOnIfItsSectionExists) {
  EXPECT_TRUE(Parsed({{"dcgmExporter", {{"hostPID", true}}}}).dcgm_exporter.enabled);
  EXPECT_FALSE(Parsed({{"dcgmExporter", {{"enabled", false}}}}).dcgm_exporter.enabled);
  const Json off = Json::array({{{"name", "KUBERNETES_ENABLE_DRA"}, {"value", "false"}}});
  EXPECT_THAT(Parsed({{"dcgmExporter", {{"env", off}}}}).dcgm_exporter.env,
              ElementsAre(std::pair("KUBERNETES_ENABLE_DRA", "false")));
  EXPECT_THAT(Parsed({{"dcgmExporter", Json::object()}}).dcgm_exporter.env,
              ElementsAre(std::pair("KUBERNETES_ENABLE_DRA", "true")));
  EXPECT_TRUE(Parsed({{"gfd", {{"enabled", true}}}}).gfd.enabled);
  EXPECT_FALSE(Parsed({{"gfd", {{"repository", "mirror"}}}}).gfd.enabled);
}

TEST(GpuCluster, DriversComeFromNvidiaDriversIfThereAreSome) {
  EXPECT_FALSE(DriversInContainers(Parsed({{"draDriver", Json::object()}})));
  const ClusterPolicy policy = Parsed({{"draDriver", Json::object()}}, true);
  EXPECT_TRUE(DriversInContainers(policy));
  EXPECT_FALSE(IsWanted(OperandId::kDriver, policy));
}

TEST(GpuCluster, FieldsOfTheDraDriverAreRead) {
  const ClusterPolicy policy =
      Parsed({{"draDriver",
               {{"repository", "r"},
                {"featureGates", {{"DynamicMIG", true}, {"ContextualLogging", false}}},
                {"gpus",
                 {{"kubeletPlugin",
                   {{"env", Json::array({{{"name", "A"}, {"value", "b"}}})},
                    {"resources", {{"limits", {{"memory", "64Mi"}}}}}}}}}}},
              {"hostPaths", {{"kubeletRootDir", "/k"}, {"driverInstallDir", "/d"}}}});
  EXPECT_EQ(policy.dra_driver.image.repository, "r");
  EXPECT_THAT(policy.dra_driver.env, ElementsAre(std::pair("A", "b")));
  EXPECT_EQ(policy.dra_driver.resources["limits"]["memory"], "64Mi");
  EXPECT_THAT(policy.dra_gates,
              ElementsAre(std::pair("ContextualLogging", false), std::pair("DynamicMIG", true)));
  EXPECT_EQ(policy.kubelet_root, "/k");
  EXPECT_EQ(policy.driver_install_dir, "/d");
}

TEST(GpuCluster, AnUnknownFeatureGateIsAMistake) {
  const auto policy =
      Parse(PolicyOf(GpuCluster({{"draDriver", {{"featureGates", {{"Fast", true}}}}}}), false));
  ASSERT_FALSE(policy.has_value());
  EXPECT_THAT(policy.error().message, HasSubstr("spec.draDriver.featureGates.Fast"));
}

TEST(GpuCluster, WhatIsNotActedOnIsNamed) {
  const Json plugin = {{"healthcheck", {{"enabled", true}, {"port", 51516}}}};
  const Json asked = GpuCluster({{"draDriver",
                                  {{"computeDomains", {{"enabled", true}}},
                                   {"featureGates", {{"DynamicMIG", true}, {"MPSSupport", false}}},
                                   {"gpus", {{"kubeletPlugin", plugin}}}}}});
  EXPECT_THAT(UnsupportedFields(PolicyOf(asked, false)),
              ElementsAre("draDriver.computeDomains.enabled",
                          "draDriver.gpus.kubeletPlugin.healthcheck.enabled",
                          "draDriver.gpus.kubeletPlugin.healthcheck.port",
                          "draDriver.featureGates.DynamicMIG"));
  // Below a switch that is off, nothing is asked for.
  const Json off = GpuCluster(
      {{"draDriver",
        {{"computeDomains",
          {{"enabled", false}, {"controller", {{"resources", {{"limits", {{"cpu", "1"}}}}}}}}},
         {"gpus", {{"kubeletPlugin", {{"healthcheck", {{"enabled", false}, {"port", 1}}}}}}}}}});
  EXPECT_THAT(UnsupportedFields(PolicyOf(off, false)), IsEmpty());
}

}  // namespace
}  // namespace gantry::policy
