// SPDX-License-Identifier: Apache-2.0

// Golden tests: tests/golden/operator/<case>/ has a ClusterPolicy or GPUCluster (policy.json, with
// what else there is to know in facts.json), perhaps NVIDIADrivers (drivers.json), and the objects
// that come of them (expected.yaml). GANTRY_ACCEPT=1 writes the latter anew.

#include "operator/desired/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "operator/desired/context.h"
#include "operator/desired/host_cleanup.h"
#include "operator/desired/makers.h"
#include "operator/driver_parts_for_tests.h"
#include "operator/driver_plan.h"
#include "policy/gpu_cluster.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool IsScalar(const Json& value) { return !value.is_structured() || value.empty(); }

// YAML's block form, keys in order, texts as JSON writes them.
void Write(const Json& value, int indent, std::ostream& out) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  if (value.is_array()) {
    for (const Json& item : value) {
      std::ostringstream inner;
      Write(item, indent + 2, inner);
      std::string text = inner.str();
      out << pad << "- "
          << (IsScalar(item) ? item.dump() + "\n" : text.substr(static_cast<size_t>(indent) + 2));
    }
    return;
  }
  for (const auto& [key, item] : value.items()) {
    out << pad << key << ":";
    if (IsScalar(item)) {
      out << " " << item.dump() << "\n";
    } else {
      out << "\n";
      Write(item, indent + 2, out);
    }
  }
}

std::map<std::string, std::vector<std::string>> ConfigMapsIn(const Json& facts) {
  std::map<std::string, std::vector<std::string>> maps;
  if (const Json* found = At(facts, "configMaps"); found != nullptr) {
    found->get_to(maps);
  }
  return maps;
}

MonitoringKinds MonitoringIn(const Json& facts) {
  const Served served = BoolAt(facts, "prometheusOperator", false) ? Served::kYes : Served::kNo;
  return {served, served};
}

OpenShift OpenShiftIn(const Json& facts) {
  OpenShift openshift{.version = TextAt(facts, "openshift.version")};
  openshift.constraints = openshift.present();
  if (const Json* proxy = At(facts, "openshift.proxy"); proxy != nullptr) {
    openshift.proxy = ProxyOf(*proxy);
  }
  if (const Json* images = At(facts, "openshift.toolkit"); images != nullptr) {
    openshift.toolkit.emplace();
    images->get_to(openshift.toolkit->images);
  }
  return openshift;
}

// The drivers of a case, on nodes that are theirs: facts.json has the nodes' labels.
void WriteDrivers(const Json& drivers, const Json& facts, Context context, std::ostream& out) {
  DriversAsked asked;
  std::map<std::string, NodeFacts> nodes;
  for (const auto& [name, labels] : facts["nodes"].items()) {
    nodes[name].labels = PackLabels(labels.get<Labels>());
    nodes[name].labels += format("{}=true\n{}driver=true\n{}vgpu-manager=true\n",
                                 names::kGpuPresent, names::kDeployPrefix, names::kDeployPrefix);
  }
  for (const auto& [name, node] : nodes) {
    asked.nodes.emplace_back(name, &node);
  }
  asked.objects.assign(drivers.begin(), drivers.end());
  for (const std::string& selector : SelectorsOf(asked.objects)) {
    std::set<std::string>& taken = asked.selections[selector];
    for (const auto& [name, node] : nodes) {
      if (std::ranges::all_of(Split(selector, ','), [&](const std::string& term) {
            return ("\n" + node.labels).find("\n" + term + "\n") != std::string::npos;
          })) {
        taken.insert(name);
      }
    }
  }
  const DriverPlan plan = PlanDrivers(asked, context);
  for (const DriverOutcome& driver : plan.drivers) {
    for (const Json& made : driver.objects) {
      out << "---\n# NVIDIADriver " << driver.name << "\n";
      Write(made, 0, out);
    }
    if (!driver.message.empty()) {
      out << "---\n# NVIDIADriver " << driver.name << ": " << driver.message << "\n";
    }
  }
  for (const Json& made : plan.shared) {
    out << "---\n# all NVIDIADrivers\n";
    Write(made, 0, out);
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ObjectsAreAsExpected) {
  const fs::path folder = fs::path("tests/golden/operator") / GetParam();
  const auto object = ParseJson(Read(folder / "policy.json"));
  ASSERT_TRUE(object.has_value()) << object.error().message;
  Json facts = Json::object();
  if (fs::exists(folder / "facts.json")) {
    facts = *ParseJson(Read(folder / "facts.json"));
  }
  const bool is_gpu_cluster = TextAt(*object, "kind") == "GPUCluster";
  const auto policy = policy::Parse(is_gpu_cluster ? policy::PolicyOf(*object, false) : *object);
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  Context context{.policy = *policy,
                  .ns = "gpu-operator",
                  .release = {.image = "localhost/gantry:1",
                              .pull_secrets = TextsAt(facts, "pullSecrets"),
                              .driver_manager = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v1",
                              .cuda_image = "nvcr.io/nvidia/cuda"},
                  .runtime = TextAt(facts, "runtime", "containerd"),
                  .owners = Json::array({{{"apiVersion", "nvidia.com/v1"},
                                          {"kind", "ClusterPolicy"},
                                          {"name", "cluster-policy"},
                                          {"uid", "1"},
                                          {"controller", true},
                                          {"blockOwnerDeletion", true}}}),
                  .monitoring = MonitoringIn(facts),
                  .openshift = OpenShiftIn(facts),
                  .config_maps = ConfigMapsIn(facts)};
  DivideOn({TextAt(facts, "system.id"), TextAt(facts, "system.tag"),
            TextsAt(facts, "system.kernels"), TextsAt(facts, "system.rhcos")},
           context);
  // A case may be about some states only.
  const std::vector<std::string> states = TextsAt(facts, "states");
  std::ostringstream written;
  for (const DesiredOperand& operand :
       DesiredOperands(context, BoolAt(facts, "nodeFeatures", true))) {
    if (!states.empty() && std::ranges::find(states, operand.operand->state) == states.end()) {
      continue;
    }
    for (const Json& made : operand.objects) {
      written << "---\n# " << operand.operand->state << "\n";
      Write(made, 0, written);
    }
    if (!operand.mistake.empty()) {
      written << "---\n# " << operand.operand->state << ": " << operand.mistake << "\n";
    }
  }
  if (fs::exists(folder / "drivers.json")) {
    const auto drivers = ParseJson(Read(folder / "drivers.json"));
    ASSERT_TRUE(drivers.has_value()) << drivers.error().message;
    WriteDrivers(*drivers, facts, context, written);
  }
  if (BoolAt(facts, "cleanup", false)) {
    written << "---\n# cleanup\n";
    Write(HostCleanup(context), 0, written);
  }
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    std::ofstream(folder / "expected.yaml") << written.str();
  }
  EXPECT_EQ(written.str(), Read(folder / "expected.yaml"));
}

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator("tests/golden/operator")) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Operator, Golden, testing::ValuesIn(Cases()),
                         [](const auto& one) { return one.param; });

TEST(NodeStatusExporter, IsToldWhetherAPluginIsWanted) {
  for (const char* wanted : {"true", "false"}) {
    Context context;
    context.release.image = "gantry:1";
    context.policy.device_plugin.enabled = std::string_view(wanted) == "true";
    for (const Objects& objects : {NodeStatusExporter(context, "gantry:1"),
                                   *NvidiaNodeStatusExporter(context, "gpu-operator:1")}) {
      EXPECT_NE(Json(objects).dump().find(
                    format(R"({{"name":"DEVICE_PLUGIN_ENABLED","value":"{}"}})", wanted)),
                std::string::npos);
    }
  }
}

const Json& PodOf(const Objects& objects) {
  const auto set = std::ranges::find_if(
      objects, [](const Json& object) { return TextAt(object, "kind") == "DaemonSet"; });
  return set->at("spec").at("template").at("spec");
}

TEST(PullPolicy, OfTheOperatorsImageIsNothingToAnother) {
  Context context;
  context.release.image = "r/gantry:1";
  context.release.pull_policy = "Always";
  const std::string theirs = "nvcr.io/nvidia/k8s-device-plugin:v1";
  const Objects objects = *NvidiaDevicePlugin(context, theirs);
  const Json& pod = PodOf(objects);
  EXPECT_EQ(pod["containers"][0]["imagePullPolicy"], "IfNotPresent");
  // The init container that waits runs from ours.
  EXPECT_EQ(pod["initContainers"][0]["imagePullPolicy"], "Always");
  const Objects ours = DevicePlugin(context, context.release.image);
  EXPECT_EQ(PodOf(ours)["containers"][0]["imagePullPolicy"], "Always");
  for (const char* asked : {"Never", "Sometimes"}) {
    context.policy.device_plugin.image.pull_policy = asked;
    const Objects told = *NvidiaDevicePlugin(context, theirs);
    EXPECT_EQ(PodOf(told)["containers"][0]["imagePullPolicy"],
              asked == std::string_view("Never") ? "Never" : "IfNotPresent");
  }
}

TEST(NvidiaContainerToolkit, KeepsItsHooksWhereTheHostLetsItWrite) {
  Context context;
  context.release.image = "gantry:1";
  const auto hooks = [&] {
    const Objects objects = *NvidiaContainerToolkit(context, "container-toolkit:1");
    const Json& volumes = PodOf(objects)["volumes"];
    const auto found = std::ranges::find_if(
        volumes, [](const Json& volume) { return TextAt(volume, "name") == "crio-hooks"; });
    return TextAt(*found, "hostPath.path");
  };
  EXPECT_EQ(hooks(), "/run/containers/oci/hooks.d");
  context.runtime = "crio";
  EXPECT_EQ(hooks(), "/usr/share/containers/oci/hooks.d");
  context.openshift.version = "4.16";
  EXPECT_EQ(hooks(), "/run/containers/oci/hooks.d");
}

// A validator of NVIDIA's writes driver-ready in a pod that needs the runtime which its toolkit
// brings, and the toolkit needs driver-ready: the toolkit's pod asks for the driver by itself.
TEST(NvidiaContainerToolkit, FindsTheDriverWithoutNvidiasValidator) {
  Json spec = {{"validator",
                {{"repository", "nvcr.io/nvidia"}, {"image", "gpu-operator"}, {"version", "v26"}}}};
  Context context;
  context.release.image = "r/gantry:1";
  for (const char* writer : {"gpu-operator", "gantry"}) {
    spec["validator"]["image"] = writer;
    context.policy = *policy::Parse({{"spec", spec}});
    const Objects objects = *NvidiaContainerToolkit(context, "container-toolkit:1");
    const Json& init = PodOf(objects)["initContainers"];
    ASSERT_EQ(init.size(), 1U);
    EXPECT_EQ(init[0]["name"], "driver-validation");
    EXPECT_EQ(TextAt(init[0], "image"), std::string_view(writer) == "gantry"
                                            ? "r/gantry:1"
                                            : "nvcr.io/nvidia/gpu-operator:v26");
    EXPECT_EQ(init[0].contains("args"), std::string_view(writer) == "gpu-operator");
  }
  // Which of them it is can't be told.
  spec["validator"].erase("version");
  context.policy = *policy::Parse({{"spec", spec}});
  EXPECT_FALSE(NvidiaContainerToolkit(context, "container-toolkit:1").has_value());
}

// Labels of node feature discovery may be gone for a while: as it changes over, or starts anew.
TEST(IsWhole, NotWhileNoNodeSaysForWhichSystemDriversAre) {
  const Json image = {{"repository", "r"}, {"image", "i"}, {"version", "1"}, {"enabled", true}};
  Json spec = {
      {"sandboxWorkloads", {{"enabled", true}}}, {"driver", image}, {"vgpuManager", image}};
  const auto incomplete = [&](const SystemFacts& system) {
    Context context{.policy = *policy::Parse({{"spec", spec}}),
                    .ns = "ns",
                    .release = {.image = "gantry:1", .driver_manager = "m:1"}};
    DivideOn(system, context);
    std::string states;
    for (const DesiredOperand& operand : DesiredOperands(context, true)) {
      states += IsWhole(operand) ? "" : format("{} ", operand.operand->state);
    }
    return states;
  };
  EXPECT_EQ(incomplete({}), "state-driver state-vgpu-manager ");
  EXPECT_EQ(incomplete({"ubuntu", "ubuntu22.04", {"6.5"}, {}}), "");
  spec["driver"]["usePrecompiled"] = true;
  EXPECT_EQ(incomplete({"ubuntu", "ubuntu22.04", {}, {}}), "state-driver ") << "of which kernel?";
  spec["driver"]["enabled"] = spec["vgpuManager"]["enabled"] = false;
  EXPECT_EQ(incomplete({}), "") << "nobody asks for them";
  spec["driver"] = {{"enabled", true}};
  EXPECT_EQ(incomplete({}), "state-driver ") << "which driver?";
  spec["driver"]["useNvidiaDriverCRD"] = true;
  EXPECT_EQ(incomplete({}), "") << "NVIDIADrivers say";
}

TEST(GpuFeatureDiscovery, AFileWithLabelsIsTheHosts) {
  const auto mounts = [](const policy::EnvVars& env, const std::string& config = "") {
    Context context;
    context.release.image = "gantry:1";
    context.policy.gfd.env = env;
    context.policy.config_name = config;
    return Json(GpuFeatureDiscovery(context, "gantry:1")).dump().find(names::kFeaturesDir) !=
           std::string::npos;
  };
  EXPECT_FALSE(mounts({}));
  EXPECT_FALSE(mounts({{"USE_NODE_FEATURE_API", "true"}}));
  EXPECT_TRUE(mounts({{"USE_NODE_FEATURE_API", "false"}}));
  EXPECT_TRUE(mounts({{"GFD_USE_NODE_FEATURE_API", "0"}}));
  EXPECT_TRUE(mounts({}, "plugin-config")) << "it may say useNodeFeatureAPI";
}

bool SeesTheHost(const Json& pod) {
  const auto is_privileged = [](const Json& container) {
    return BoolAt(container, "securityContext.privileged", false);
  };
  return std::ranges::any_of(ListAt(pod, "initContainers"), is_privileged) ||
         std::ranges::any_of(ListAt(pod, "containers"), is_privileged) ||
         std::ranges::any_of(ListAt(pod, "volumes"),
                             [](const Json& volume) { return volume.contains("hostPath"); });
}

// Whether the object lets the pods of the account be so on OpenShift.
bool LetsSeeTheHost(const Json& object, const std::string& account) {
  if (TextAt(object, "kind") == "SecurityContextConstraints") {
    return object["users"] == Json::array({"system:serviceaccount:ns:" + account});
  }
  return TextAt(object, "kind") == "Role" && TextAt(object, "metadata.name") == account &&
         std::ranges::any_of(object["rules"], [](const Json& rule) {
           return rule["resources"] == Json::array({"securitycontextconstraints"}) &&
                  rule["verbs"] == Json::array({"use"});
         });
}

TEST(OpenShiftRights, EveryPodThatSeesTheHostMayDoSo) {
  Json ours = {{"nodeStatusExporter", {{"enabled", true}}},
               {"sandboxWorkloads", {{"enabled", true}}},
               {"cuda", {{"enabled", true}, {"version", "12.4"}}},
               {"draDriver", {{"enabled", true}}}};
  Json theirs = ours;
  for (const policy::Operand& operand : policy::Operands()) {
    // Of these there is only Gantry's.
    if (!operand.section.empty() && operand.section != "cuda" && operand.section != "draDriver") {
      theirs[std::string(operand.section)].update(
          {{"enabled", true}, {"repository", "r"}, {"image", "i"}, {"version", "v"}});
    }
  }
  theirs["vgpuDeviceManager"]["config"] = {{"name", "types"}};
  Json kata = theirs;
  kata["sandboxWorkloads"]["mode"] = "kata";
  for (const Json& spec : {ours, theirs, kata}) {
    const auto policy = policy::Parse({{"spec", spec}});
    ASSERT_TRUE(policy.has_value()) << policy.error().message;
    Context context{.policy = *policy,
                    .ns = "ns",
                    .release = {.image = "gantry:1",
                                .driver_manager = "m:1",
                                .cuda_image = "nvcr.io/nvidia/cuda"},
                    .runtime = "crio",
                    .openshift = {.version = "4.13", .constraints = true}};
    DivideOn({"rhcos", "rhcos4.13", {"5.14"}, {}}, context);
    for (const DesiredOperand& operand : DesiredOperands(context, true)) {
      EXPECT_EQ(operand.mistake, "");
      for (const Json& object : operand.objects) {
        const Json* pod = At(object, "spec.template.spec");
        if (pod != nullptr && SeesTheHost(*pod)) {
          EXPECT_TRUE(std::ranges::any_of(operand.objects, [&](const Json& other) {
            return LetsSeeTheHost(other, TextAt(*pod, "serviceAccountName"));
          })) << TextAt(object, "metadata.name");
        }
      }
    }
  }
}

// op#742: values node-feature-discovery.worker.* of the chart.
TEST(NodeFeatures, AreFoundWhereAndAsTheChartsValuesSay) {
  const auto worker = [](const Json& pod) {
    Context context;
    context.policy = policy::Parse(Json::object()).value();
    context.ns = "ns";
    context.release.image = "i:1";
    context.release.worker_pod = pod;
    const Objects objects = NodeFeatures(context, "i:1");
    return objects.back()["spec"]["template"];
  };
  const Json plain = worker({});
  EXPECT_EQ(plain["spec"]["tolerations"], Json::parse(R"([{"operator": "Exists"}])"));
  EXPECT_EQ(plain["spec"]["nodeSelector"], Json::parse(R"({"kubernetes.io/os": "linux"})"));
  const Json asked = Json::parse(R"({
      "nodeSelector": {"node-pool": "gpu"}, "affinity": {"nodeAffinity": {}}, "priorityClassName": "p",
      "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
      "resources": {"requests": {"cpu": "10m"}}, "annotations": {"a": "b"}})");
  const Json made = worker(asked);
  for (const char* key : {"affinity", "tolerations", "priorityClassName"}) {
    EXPECT_EQ(made["spec"][key], asked[key]) << key;
  }
  EXPECT_EQ(made["spec"]["nodeSelector"],
            Json::parse(R"({"kubernetes.io/os": "linux", "node-pool": "gpu"})"));
  EXPECT_EQ(made["spec"]["containers"][0]["resources"], asked["resources"]);
  EXPECT_EQ(made["metadata"]["annotations"]["a"], "b");
  EXPECT_EQ(worker(Json::parse(R"({"tolerations": []})"))["spec"]["tolerations"], Json::array());
}

}  // namespace
}  // namespace gantry::gpu_operator
