// SPDX-License-Identifier: Apache-2.0

#include "operator/desired/exporter_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "operator/desired/operands.h"
#include "policy/cluster_policy.h"

namespace gantry::gpu_operator {
namespace {

using testing::HasSubstr;

policy::ClusterPolicy PolicyOf(const Json& exporter) {
  auto policy = policy::Parse({{"spec", {{"dcgmExporter", exporter}}}});
  CHECK(policy.has_value());
  return *std::move(policy);
}

std::string Mistake(const Json& exporter) { return ExporterMistake(PolicyOf(exporter)); }

ExporterReads Reads(std::string_view variable, std::string_view value) {
  return WhatExporterReads(
      PolicyOf({{"env", Json::array({{{"name", variable}, {"value", value}}})}}));
}

TEST(ExporterMistake, NamesTheFieldAndWhatItMayBe) {
  EXPECT_EQ(Mistake(Json::object()), "");
  EXPECT_EQ(Mistake({{"service", {{"type", "LoadBalancer"}, {"internalTrafficPolicy", "Local"}}}}),
            "");
  EXPECT_EQ(Mistake({{"service", {{"type", "Nodeport"}}}}),
            "spec.dcgmExporter.service.type: \"Nodeport\" is not ClusterIP, NodePort or "
            "LoadBalancer");
  EXPECT_THAT(Mistake({{"service", {{"internalTrafficPolicy", "local"}}}}),
              HasSubstr("service.internalTrafficPolicy: \"local\" is not Cluster or Local"));
  EXPECT_EQ(Mistake({{"hpcJobMapping", {{"directory", "/var/jobs"}}}}), "");
  for (const char* directory : {"jobs", "/var/../etc"}) {
    EXPECT_THAT(Mistake({{"hpcJobMapping", {{"directory", directory}}}}),
                HasSubstr("hpcJobMapping.directory"));
  }
}

TEST(ExporterMistake, DurationsAreThoseOfPrometheus) {
  for (const char* right : {"30s", "1m30s", "1h", "500ms", "1d12h", "15s"}) {
    EXPECT_EQ(Mistake({{"serviceMonitor", {{"interval", right}}}}), "") << right;
  }
  for (const char* wrong :
       {"30", "s", "30s1m", "1m1m", "1.5m", "-1s", "30 s", "99999999999999999y"}) {
    EXPECT_THAT(Mistake({{"serviceMonitor", {{"interval", wrong}}}}),
                HasSubstr("serviceMonitor.interval"))
        << wrong;
    EXPECT_THAT(Mistake({{"serviceMonitor", {{"scrapeTimeout", wrong}}}}),
                HasSubstr("serviceMonitor.scrapeTimeout"))
        << wrong;
  }
  EXPECT_EQ(Mistake({{"serviceMonitor", {{"interval", "1m"}, {"scrapeTimeout", "60s"}}}}), "");
  EXPECT_EQ(Mistake({{"serviceMonitor", {{"interval", "15s"}, {"scrapeTimeout", "1m"}}}}),
            "spec.dcgmExporter.serviceMonitor.scrapeTimeout: 1m is more than the interval, 15s");
}

TEST(ExporterMistake, LeavesTheOtherOperandsAlone) {
  const policy::ClusterPolicy policy = PolicyOf({{"service", {{"type", "Nodeport"}}}});
  const Context context{.policy = policy, .ns = "ns", .release = {.image = "gantry:1"}};
  for (const DesiredOperand& operand : DesiredOperands(context, true)) {
    const bool exporter = operand.operand->section == "dcgmExporter";
    EXPECT_EQ(exporter, operand.mistake.contains("service.type")) << operand.operand->state;
    EXPECT_TRUE(!exporter || operand.objects.empty());
  }
}

bool Privileged(const Json& spec) {
  auto policy = policy::Parse({{"spec", spec}});
  CHECK(policy.has_value());
  return ExporterIsPrivileged({.policy = *policy, .ns = "ns", .release = {.image = "gantry:1"}});
}

TEST(ExporterIsPrivileged, WithoutAToolkitThatGivesItGpus) {
  EXPECT_FALSE(Privileged(Json::object()));
  EXPECT_FALSE(Privileged({{"cdi", {{"enabled", true}, {"nriPluginEnabled", true}}}}));
  EXPECT_FALSE(
      Privileged({{"toolkit", {{"repository", "mirror"}, {"image", "gantry"}, {"version", "2"}}}}))
      << "this program from another registry";
  EXPECT_TRUE(Privileged({{"toolkit", {{"enabled", false}}}}));
  EXPECT_TRUE(Privileged({{"cdi", {{"enabled", false}}}}));
  EXPECT_TRUE(Privileged({{"toolkit",
                           {{"repository", "nvcr.io/nvidia/k8s"},
                            {"image", "container-toolkit"},
                            {"version", "v1"}}}}))
      << "it has no kernel-log";
}

TEST(ExporterIsPrivileged, WhereTheToolkitIsToldToDoOtherwise) {
  const auto with = [](const char* variable) {
    return Privileged(
        {{"toolkit", {{"env", Json::array({{{"name", variable}, {"value", "x"}}})}}}});
  };
  EXPECT_FALSE(with("TOOLKIT_DEBUG"));
  EXPECT_TRUE(with("CDI_OUTPUT_DIR"));
  EXPECT_TRUE(with("NO_RUNTIME_CONFIG"));
  EXPECT_TRUE(Privileged({{"toolkit", {{"args", Json::array({"--no-runtime-config"})}}}}));
}

TEST(ExporterReads, FollowFromFieldsAndVariables) {
  EXPECT_FALSE(WhatExporterReads(PolicyOf(Json::object())).Anything());
  EXPECT_TRUE(WhatExporterReads(PolicyOf({{"enablePodLabels", true}})).pods);
  EXPECT_TRUE(WhatExporterReads(PolicyOf({{"enablePodUID", true}})).pods);
  EXPECT_TRUE(Reads("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "true").pods);
  EXPECT_TRUE(Reads("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", "1").pods);
  EXPECT_FALSE(Reads("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", "false").Anything());
  EXPECT_TRUE(Reads("KUBERNETES_ENABLE_DRA", "true").claims);
  EXPECT_TRUE(Reads("DCGM_EXPORTER_CONFIGMAP_DATA", "ns:name").config_map);
  EXPECT_FALSE(Reads("DCGM_EXPORTER_CONFIGMAP_DATA", "none").Anything());
}

TEST(ExporterSeesProcesses, OnlyIfAPodsShareOfAGpuIsAskedFor) {
  EXPECT_FALSE(ExporterSeesProcesses(PolicyOf(Json::object())));
  EXPECT_TRUE(ExporterSeesProcesses(PolicyOf({{"hostPID", true}})));
  EXPECT_TRUE(ExporterSeesProcesses(PolicyOf(
      {{"env", Json::array({{{"name", "KUBERNETES_VIRTUAL_GPUS"}, {"value", "true"}}})}})));
}

}  // namespace
}  // namespace gantry::gpu_operator
