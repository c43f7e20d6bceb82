// SPDX-License-Identifier: Apache-2.0
#include "doctor/cluster_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/part_facts.h"
#include "doctor/policy_facts.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Finding> Examined(const ClusterFacts& cluster) {
  std::vector<Finding> findings;
  ExamineCluster(StagedCluster(cluster), findings);
  return findings;
}

PolicyFacts PolicyWith(const char* spec) {
  Json policy = Json::parse(
      R"({"kind": "ClusterPolicy", "metadata": {"name": "p"},
      "status": {"namespace": "gpu-operator"}})");
  policy["spec"] = Json::parse(spec);
  return PolicyFrom(policy);
}

TEST(ClusterFindings, NothingIsWrong) {
  ClusterFacts cluster;
  cluster.nodes.resize(1);
  cluster.node_features = 8;
  cluster.policies = {PolicyWith("{}")};
  cluster.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 1}};
  cluster.operands = {{.name = "nvidia-dcgm-exporter", .sees_pods = true}};
  EXPECT_THAT(Examined(cluster), IsEmpty());
}

TEST(ClusterFindings, WhatCouldNotBeLookedAt) {
  ClusterFacts cluster;
  cluster.unread = {
      {.what = "events", .error = {.kind = ErrorKind::kDenied, .message = "list event: forbidden"}},
      {.what = "pods", .error = {.kind = ErrorKind::kTimeout, .message = "list pod: timeout"}}};
  EXPECT_THAT(Examined(cluster),
              ElementsAre(AllOf(Field(&Finding::code, "NotPermitted"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::message, HasSubstr("events: list event"))),
                          Field(&Finding::code, "NotRead")));
}

TEST(ClusterFindings, AnOperatorThatDoesNotRun) {
  ClusterFacts cluster;
  cluster.operators = {
      OperatorFrom(Json::parse(R"({"kind": "Deployment", "metadata": {"namespace": "a",
      "name": "gpu-operator"}, "spec": {"replicas": 1}, "status": {}})"))};
  cluster.operators[0].wanted = 0;
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "OperatorStopped")));
}

// No operator acts on the policy, unless one elsewhere renews the lease.
TEST(ClusterFindings, AnOperatorThatIsGone) {
  ClusterFacts cluster;
  cluster.now = WallTime(std::chrono::hours(24 * 365 * 56));
  cluster.policies = {PolicyWith("{}")};
  cluster.policies[0].state = "ready";
  EXPECT_THAT(Examined(cluster), IsEmpty());  // who may not see the lease
  for (const std::string& renewed :
       {std::string(), Rfc3339Micro(cluster.now - std::chrono::seconds(70))}) {
    cluster.lease_renewed = renewed;
    EXPECT_THAT(
        Examined(cluster),
        ElementsAre(AllOf(Field(&Finding::code, "OperatorStopped"),
                          Field(&Finding::severity, Severity::kProblem),
                          Field(&Finding::message, HasSubstr("operator's Deployment is missing")))))
        << renewed;
  }
  for (const char* state : {"", "ignored"}) {
    cluster.policies[0].state = state;
    EXPECT_THAT(Examined(cluster), IsEmpty()) << state;
  }
  cluster.policies[0].state = "notReady";
  cluster.unread = {
      {.what = kDeploymentsPart, .error = {.kind = ErrorKind::kDenied, .message = ""}}};
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "NotPermitted")));
  cluster.unread = {};
  cluster.lease_renewed = Rfc3339Micro(cluster.now - std::chrono::seconds(50));
  EXPECT_THAT(Examined(cluster), IsEmpty());
  cluster.lease_renewed = "";
  cluster.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 1}};
  EXPECT_THAT(Examined(cluster), IsEmpty());
}

TEST(ClusterFindings, TwoOperators) {
  ClusterFacts cluster;
  cluster.operators = {{.object = "Deployment a/gpu-operator", .wanted = 1, .available = 1},
                       {.object = "Deployment b/gpu-operator", .wanted = 1, .available = 1}};
  EXPECT_THAT(Examined(cluster),
              ElementsAre(AllOf(Field(&Finding::code, "OperatorTwice"),
                                Field(&Finding::object,
                                      "Deployment a/gpu-operator, Deployment b/gpu-operator"))));
  // As the remedy says.
  cluster.operators[1].wanted = 0;
  EXPECT_THAT(Examined(cluster), IsEmpty());
  cluster.operators[0].wanted = 0;
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "OperatorStopped")));
}

Json Workload(const char* kind, const char* name, const char* image) {
  Json object = Json::parse(R"({"metadata": {"namespace": "a"}, "spec": {"replicas": 1, "template":
      {"spec": {"containers": [{}]}}}, "status": {"desiredNumberScheduled": 2}})");
  object["kind"] = kind;
  object["metadata"]["name"] = name;
  object["spec"]["template"]["spec"]["containers"][0]["image"] = image;
  return object;
}

TEST(ClusterFindings, PartsThatAreThereTwice) {
  Json ours = Workload("DaemonSet", "nvidia-device-plugin-daemonset", "localhost/gantry:1");
  ours["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "gpu-operator"}};
  // One image, three programs.
  Json discovery = Workload("DaemonSet", "gpu-feature-discovery", "n/k8s-device-plugin:v0.17.0");
  discovery["metadata"]["labels"] = ours["metadata"]["labels"];
  Json daemon = Workload("DaemonSet", "nvdp-mps-control-daemon", "n/k8s-device-plugin:v0.17.0");
  daemon["spec"]["template"]["spec"]["containers"][0]["command"] =
      Json::array({"mps-control-daemon"});
  // Under another name, of whichever image.
  Json copy = Workload("DaemonSet", "copy", "localhost/gantry:1");
  copy["spec"]["template"]["spec"]["containers"][0]["command"] =
      Json::array({"/usr/bin/nvidia-device-plugin"});
  Json labelled = copy;
  labelled["metadata"]["labels"] = ours["metadata"]["labels"];
  Json chart = Workload("DaemonSet", "nvdp", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0");
  chart["spec"]["template"]["spec"]["containers"][0]["command"] =
      Json::array({"nvidia-device-plugin"});
  const Json amds = Workload("DaemonSet", "amd", "docker.io/rocm/k8s-device-plugin:1.25-amd64");
  const Json google = Workload("DaemonSet", "g", "gcr.io/x/nvidia-gpu-device-plugin@sha256:1");
  // By whatever repository; HAMi's image holds its scheduler too.
  const Json renamed = Workload("DaemonSet", "r", "registry:5000/gpu/nvidia-device-plugin:v1");
  const Json scheduler = Workload("DaemonSet", "h", "docker.io/projecthami/hami:v2.4.0");
  Json hami = scheduler;
  hami["spec"]["template"]["spec"]["containers"][0]["command"] =
      Json::array({"nvidia-device-plugin", "--config-file=/device-config.yaml"});
  const Json exporter = Workload("DaemonSet", "e", "registry/nvidia-device-plugin-exporter:v1");
  const Json nfd = Workload("Deployment", "nfd-master", "registry/nfd/node-feature-discovery:1");
  const Json garbage = Workload("Deployment", "nfd-gc", "registry/nfd/node-feature-discovery:1");
  const Json manager = Workload("Deployment", "c", "quay.io/jetstack/cert-manager-controller:1");
  Json mirrored = Workload("Deployment", "cm", "registry/controller:1");
  mirrored["metadata"]["labels"] = {{"app.kubernetes.io/name", "cert-manager"},
                                    {"app.kubernetes.io/component", "controller"}};
  Json elsewhere = google;
  elsewhere["spec"]["template"]["spec"]["nodeSelector"] = {{"pool", "other"}};
  const Json hooks = Workload("Deployment", "w", "quay.io/jetstack/cert-manager-webhook:1");
  const Json other = Workload("DaemonSet", "fluentd", "fluentd:1");
  struct Case {
    std::vector<Json> objects;
    const char* code;  // nullptr: none
  };
  for (const auto& [objects, code] :
       {Case{{ours, discovery, nfd, manager, hooks, other, garbage}, nullptr},
        Case{{chart, daemon}, nullptr}, Case{{ours, chart}, "DevicePluginTwice"},
        Case{{chart, google}, "DevicePluginTwice"}, Case{{ours, renamed}, "DevicePluginTwice"},
        Case{{ours, copy}, "DevicePluginTwice"}, Case{{ours, labelled}, "DevicePluginTwice"},
        Case{{ours, hami}, "DevicePluginTwice"}, Case{{ours, scheduler, exporter}, nullptr},
        Case{{nfd, nfd}, "NfdTwice"}, Case{{nfd, garbage}, nullptr},
        Case{{manager, manager}, "CertManagerTwice"}, Case{{manager, mirrored}, "CertManagerTwice"},
        Case{{ours, amds}, nullptr},
        // On nodes of their own.
        Case{{ours, elsewhere}, nullptr}, Case{{elsewhere, elsewhere}, nullptr},
        Case{{other, other}, nullptr}}) {
    ClusterFacts cluster;
    cluster.nodes.resize(2);
    cluster.nodes[0].name = "n1";
    cluster.nodes[1].name = "n2";
    cluster.nodes[0].labels = {{"nvidia.com/gpu.present", "true"}};
    cluster.nodes[1].labels = {{"pool", "other"}};
    for (const Json& object : objects) {
      if (auto part = PartFrom(object)) {
        cluster.parts.push_back(*part);
      }
    }
    if (code == nullptr) {
      EXPECT_THAT(Examined(cluster), IsEmpty());
    } else {
      EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, code)));
    }
  }
  // A DaemonSet that no node takes, a Deployment that is scaled down.
  Json idle = chart;
  idle["status"]["desiredNumberScheduled"] = 0;
  EXPECT_EQ(PartFrom(idle), std::nullopt);
  idle = nfd;
  idle["spec"]["replicas"] = 0;
  EXPECT_EQ(PartFrom(idle), std::nullopt);
}

class PluginConfigs : public ::testing::Test {
 protected:
  PluginConfigs() {
    cluster_.policies = {
        PolicyWith(R"({"devicePlugin": {"config": {"name": "slices", "default": "any"}}})")};
    cluster_.configs = ConfigsFrom(Json::parse(R"({"data": {
        "any": "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
        "spare": "version: v1"}})"));
    cluster_.nodes.resize(1);
    cluster_.nodes[0].name = "n1";
    cluster_.nodes[0].labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  }
  ClusterFacts cluster_;
};

TEST_F(PluginConfigs, NothingIsWrong) {
  cluster_.nodes[0].labels["nvidia.com/device-plugin.config"] = "spare";
  EXPECT_THAT(Examined(cluster_), IsEmpty());
}

TEST_F(PluginConfigs, AMistakeIsNamed) {
  cluster_.configs =
      ConfigsFrom(Json::parse(R"({"data": {"any": "version: v1\nsharing: {timeslicing: {}}",
                                                    "spare": "version: [v1"}})"));
  EXPECT_THAT(Examined(cluster_),
              ElementsAre(AllOf(Field(&Finding::code, "PluginConfigInvalid"),
                                Field(&Finding::severity, Severity::kProblem),
                                Field(&Finding::object, "ConfigMap gpu-operator/slices"),
                                Field(&Finding::message, HasSubstr("timeslicing"))),
                          // Nobody uses this one.
                          AllOf(Field(&Finding::code, "PluginConfigInvalid"),
                                Field(&Finding::severity, Severity::kNote))));
}

TEST_F(PluginConfigs, WhatHasNoEffectIsANote) {
  cluster_.configs = ConfigsFrom(Json::parse(
      R"({"data": {"any": "version: v1\ntimeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}"}})"));
  EXPECT_THAT(Examined(cluster_),
              ElementsAre(AllOf(Field(&Finding::code, "PluginConfigInvalid"),
                                Field(&Finding::severity, Severity::kNote),
                                Field(&Finding::message, HasSubstr("any: timeSlicing")))));
}

TEST_F(PluginConfigs, AKeyThatIsNotThere) {
  cluster_.nodes[0].labels["nvidia.com/device-plugin.config"] = "a100";
  EXPECT_THAT(Examined(cluster_),
              ElementsAre(AllOf(Field(&Finding::code, "PluginConfigUnknown"),
                                Field(&Finding::object, "node n1"),
                                Field(&Finding::message, HasSubstr("it has: any, spare")))));
  cluster_.nodes[0].labels.clear();
  cluster_.policies[0].plugin_default = "none";
  EXPECT_THAT(Examined(cluster_), ElementsAre(AllOf(Field(&Finding::code, "PluginConfigUnknown"),
                                                    Field(&Finding::object, "ClusterPolicy p"))));
}

TEST_F(PluginConfigs, WithoutAConfigMapNobodyChooses) {
  cluster_.nodes[0].labels["nvidia.com/device-plugin.config"] = "a100";
  cluster_.configs.reset();
  EXPECT_THAT(Examined(cluster_), IsEmpty());
}

TEST_F(PluginConfigs, AChoiceWithoutAConfigMap) {
  cluster_.policies = {PolicyWith("{}")};
  cluster_.configs.reset();
  EXPECT_THAT(Examined(cluster_), IsEmpty());
  cluster_.nodes[0].labels["nvidia.com/device-plugin.config"] = "a100";
  EXPECT_THAT(Examined(cluster_),
              ElementsAre(AllOf(Field(&Finding::code, "PluginConfigUnknown"),
                                Field(&Finding::object, "node n1"),
                                Field(&Finding::message, HasSubstr("names no ConfigMap")),
                                Field(&Finding::remedy, HasSubstr("devicePlugin.config.name")))));
  // Another's device plugin reads that label too.
  cluster_.nodes[0].labels["nvidia.com/gpu.deploy.device-plugin"] = "false";
  EXPECT_THAT(Examined(cluster_), IsEmpty());
}

TEST_F(PluginConfigs, AConfigMapThatNobodyChooses) {
  cluster_.policies[0].plugin_default = "";
  EXPECT_THAT(
      Examined(cluster_),
      ElementsAre(AllOf(Field(&Finding::code, "PluginConfigInvalid"),
                        Field(&Finding::severity, Severity::kNote),
                        Field(&Finding::message, "no node uses it"),
                        Field(&Finding::remedy, HasSubstr("devicePlugin.config.default")))));
  cluster_.nodes.resize(2);
  cluster_.nodes[1].labels["nvidia.com/device-plugin.config"] = "spare";
  EXPECT_THAT(Examined(cluster_), IsEmpty());
  // No GPU node yet, or no key.
  cluster_.nodes.clear();
  EXPECT_THAT(Examined(cluster_), IsEmpty());
  cluster_.nodes.resize(1);
  cluster_.nodes[0].labels["nvidia.com/gpu.deploy.device-plugin"] = "true";
  cluster_.configs = ConfigsFrom(Json::parse("{}"));
  EXPECT_THAT(Examined(cluster_), IsEmpty());
}

TEST_F(PluginConfigs, AConfigMapThatIsNotThere) {
  cluster_.configs.reset();
  cluster_.policies[0].config_missing = true;
  EXPECT_THAT(Examined(cluster_),
              ElementsAre(AllOf(Field(&Finding::code, "PluginConfigUnknown"),
                                Field(&Finding::severity, Severity::kProblem),
                                Field(&Finding::object, "ClusterPolicy p"),
                                Field(&Finding::message, HasSubstr("gpu-operator/slices")))));
}

TEST(ClusterFindings, GpusForWhoeverNamesThem) {
  ClusterFacts cluster;
  for (const auto& [value, found] : {std::pair("true", true), std::pair("false", false)}) {
    Json spec = Json::parse(R"({"toolkit": {"env": [{"name":
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"}]}})");
    spec["toolkit"]["env"][0]["value"] = value;
    cluster.policies = {PolicyWith(spec.dump().c_str())};
    if (found) {
      EXPECT_THAT(Examined(cluster),
                  ElementsAre(AllOf(Field(&Finding::code, "GpusOpenToAll"),
                                    Field(&Finding::severity, Severity::kNote))));
    } else {
      EXPECT_THAT(Examined(cluster), IsEmpty());
    }
  }
}

TEST(ClusterFindings, AnExporterThatSeesNoPods) {
  ClusterFacts cluster;
  Json set = Json::parse(R"({"metadata": {"name": "nvidia-dcgm-exporter", "labels":
      {"app.kubernetes.io/managed-by": "gpu-operator"}}, "spec": {"template": {"spec": {"volumes":
      [{"name": "p", "hostPath": {"path": "/var/lib/kubelet/pod-resources"}}]}}}})");
  cluster.operands = {*OperandFrom(set)};
  EXPECT_THAT(Examined(cluster), IsEmpty());
  set["spec"]["template"]["spec"]["volumes"] = Json::array();
  cluster.operands = {*OperandFrom(set)};
  EXPECT_THAT(Examined(cluster), ElementsAre(Field(&Finding::code, "ExporterWithoutPods")));
  // Somebody has set that.
  set["spec"]["template"]["spec"]["volumes"] =
      Json::parse(R"([{"name": "p", "hostPath": {"path": "/var/lib/kubelet/pod-resources"}}])");
  for (const auto& [value, asks] : {std::pair("true", true), std::pair("false", false)}) {
    set["spec"]["template"]["spec"]["containers"] =
        Json::parse(R"([{"env": [{"name": "DCGM_EXPORTER_KUBERNETES"}]}])");
    set["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = value;
    cluster.operands = {*OperandFrom(set)};
    if (asks) {
      EXPECT_THAT(Examined(cluster), IsEmpty());
    } else {
      EXPECT_THAT(Examined(cluster),
                  ElementsAre(AllOf(Field(&Finding::code, "ExporterWithoutPods"),
                                    Field(&Finding::severity, Severity::kNote),
                                    Field(&Finding::remedy, HasSubstr("dcgmExporter.env")))));
    }
  }
  // Another owner's DaemonSet is not the operator's.
  set["metadata"].erase("labels");
  EXPECT_EQ(OperandFrom(set), std::nullopt);
}

TEST(ClusterFindings, NodeFeaturesOfNodesThatAreGone) {
  ClusterFacts cluster;
  cluster.nodes.resize(73);
  cluster.node_features = 4176;
  EXPECT_THAT(Examined(cluster), ElementsAre(AllOf(Field(&Finding::code, "NodeFeaturesLeft"),
                                                   Field(&Finding::message, HasSubstr("4176")))));
}

}  // namespace
}  // namespace gantry::doctor
