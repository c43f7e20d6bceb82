// SPDX-License-Identifier: Apache-2.0

// For random clusters and policies: whatever nodes there are, desired objects have identities of
// their own, a second pass has nothing to write, every node's driver is made for its own system and
// kernel, and a node that joins changes nothing that is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "operator/desired/driver_toolkit.h"
#include "operator/desired/operands.h"
#include "operator/driver_division.h"
#include "operator/driver_plan.h"
#include "operator/node_labels.h"
#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using testing::IsEmpty;

constexpr int kClusters = 8;

class Cluster {
 public:
  explicit Cluster(unsigned seed) : random_(seed) {
    openshift_ = Chance(4);
    by_driver_objects_ = Chance(4);
    const Json image = {{"repository", "r"}, {"image", "driver"}, {"version", "570"}};
    Json driver = image;
    driver["manager"] = image;
    driver["usePrecompiled"] = Chance(2);
    driver["useNvidiaDriverCRD"] = by_driver_objects_;
    Json toolkit = Chance(2) ? image : Json::object();
    Json vgpu = image;
    vgpu["enabled"] = true;
    vgpu["driverManager"] = image;
    spec_ = {{"driver", std::move(driver)},
             {"toolkit", std::move(toolkit)},
             {"vgpuManager", std::move(vgpu)},
             {"cdi", {{"enabled", Chance(2)}}},
             {"sandboxWorkloads", {{"enabled", Chance(3)}}}};
    if (by_driver_objects_) {
      for (const char* name : {"one", "two"}) {
        Json spec = image;
        spec["driverType"] = "gpu";
        spec["usePrecompiled"] = Chance(2);
        spec["nodeSelector"] = {{names::kDriverUpgradeSkip, name}};
        drivers_.push_back({{"metadata", {{"name", name}, {"uid", name}}}, {"spec", spec}});
      }
    }
  }

  // A node; its system and kernel are such that some have them alike and some almost alike.
  std::string AddNode() {
    static const std::vector<std::pair<std::string, std::string>> kSystems = {
        {"ubuntu", "22.04"},
        {"ubuntu", "24.04"},
        {"rhel", "9.4"},
        {"rhel", "9.6"},
        {"rhel", "8.10"},
        {"rhcos", "4.16"},
        {"rhcos", "4.17"},
        {"sles", "15.6"},
        {"sl-micro", "6.1"},
        {"debian", "12"},
        {std::string(60, 'x'), "1.2.3"}};
    static const std::vector<std::string> kKernels = {
        "6.8.0-59-generic",         "6.8.0-59-generic-64k",         "5.14.0-503.el9_5.x86_64",
        "5.14.0-503.el9_5.aarch64", "5.14.0-503.el9_5.aarch64_64k", "5.14.0-503.el9.5.x86_64",
        "5.14.0-503.EL9_5.x86_64"};
    const auto& [id, version] = OneOf(kSystems);
    Labels labels = {{names::kPciNvidia, "true"},
                     {names::kSystemId, id},
                     {names::kSystemVersion, version},
                     {names::kSystemMajor, version.substr(0, version.find('.'))},
                     {names::kKernelVersion, OneOf(kKernels)},
                     {names::kDriverUpgradeSkip, Chance(2) ? "one" : "two"}};
    if (id == "rhcos" && !Chance(5)) {
      labels[names::kRhcosVersion] = version.substr(0, 1) + version.substr(2) + ".1";
    }
    // What node feature discovery may not say.
    for (const char* label : {names::kSystemVersion, names::kSystemMajor, names::kKernelVersion}) {
      if (Chance(12)) {
        labels.erase(label);
      }
    }
    if (Chance(6)) {
      labels[names::kWorkloadConfig] = "vm-vgpu";
    }
    const std::string name = format("n{}", nodes_.size());
    NodeFacts& node = nodes_[name];
    node.labels = PackLabels(labels);
    node.runtime = Chance(3) ? "cri-o" : "containerd";
    node.described = node.linux = node.ready = true;
    return name;
  }

  // The drivers' DaemonSets as earlier releases have made them.
  void OpenSets() {
    for (auto& [key, object] : objects_) {
      if (key.kind == "DaemonSet" && key.name.starts_with("nvidia-driver-daemonset")) {
        object["metadata"]["labels"].erase(names::kDriverSystem);
        object["spec"]["template"]["spec"]["nodeSelector"].erase(names::kDriverSystem);
      }
    }
  }

  // Labels, objects, labels: as the operator goes round until nothing is left to do.
  int Settle() {
    for (int pass = 1; pass < 10; ++pass) {
      if (!Pass()) {
        return pass;
      }
    }
    ADD_FAILURE() << "it never comes to rest";
    return 10;
  }

  [[nodiscard]] const std::map<ObjectKey, Json>& objects() const { return objects_; }
  [[nodiscard]] const std::map<std::string, NodeFacts>& nodes() const { return nodes_; }
  [[nodiscard]] bool openshift() const { return openshift_; }
  bool Chance(int of) { return std::uniform_int_distribution<int>(1, of)(random_) == 1; }

  // DaemonSets of drivers that take the node.
  [[nodiscard]] std::vector<const Json*> DriversOn(const NodeFacts& node) const {
    std::vector<const Json*> sets;
    for (const auto& [key, object] : objects_) {
      const Json* selector = At(object, "spec.template.spec.nodeSelector");
      if (selector != nullptr && key.name.find("driver") != std::string::npos &&
          std::ranges::all_of(selector->items(), [&](const auto& label) {
            return ValueIn(node.labels, label.key()) == label.value().template get<std::string>();
          })) {
        sets.push_back(&object);
      }
    }
    return sets;
  }

 private:
  template <typename T>
  const T& OneOf(const std::vector<T>& values) {
    return values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(random_)];
  }

  [[nodiscard]] std::vector<DriverSetThere> There(const std::string& prefix) const {
    std::vector<DriverSetThere> there;
    for (const auto& [key, object] : objects_) {
      if (key.kind == "DaemonSet" && key.name.starts_with(prefix)) {
        there.push_back(DriverSetThereOf(object));
      }
    }
    return there;
  }

  [[nodiscard]] NamedNodes Named() const {
    NamedNodes named;
    for (const auto& [name, facts] : nodes_) {
      named.emplace_back(name, &facts);
    }
    return named;
  }

  bool Label(LabelRules rules, const DriverOwners& owners) {
    bool changed = false;
    for (auto& [name, node] : nodes_) {
      rules.driver_owner = owners.OwnerOf(name);
      const NodeChange change = DecideLabels(name, node, {}, rules);
      Labels labels = UnpackLabels(node.labels);
      for (const auto& [key, value] : change.set) {
        labels[key] = value;
      }
      for (const std::string& key : change.remove) {
        labels.erase(key);
      }
      node.labels = PackLabels(labels);
      changed |= !change.set.empty() || !change.remove.empty();
    }
    return changed;
  }

  // Whether something was written.
  bool Pass() {
    const auto policy = policy::Parse({{"spec", spec_}});
    CHECK(policy.has_value());
    const ClusterFacts cluster =
        Summarize(Named(), policy->tolerations, [](const std::string&) { return ""; });
    Context context{.policy = *policy,
                    .ns = "ns",
                    .release = {.image = "gantry:1", .driver_manager = "m:1"},
                    .owners = Json::array({{{"apiVersion", "nvidia.com/v1"},
                                            {"kind", "ClusterPolicy"},
                                            {"name", "p"},
                                            {"uid", "u"}}})};
    if (openshift_) {
      context.openshift.version = "4.16";
      context.openshift.toolkit = DriverToolkit{{{"416.1", "dtk"}}, false};
    }
    std::string runtime;
    for (const auto& [key, object] : objects_) {
      if (key.name == "nvidia-container-toolkit-daemonset") {
        for (const Json& variable :
             ListAt(object, "spec.template.spec.containers").front()["env"]) {
          runtime = TextAt(variable, "name") == "RUNTIME" ? TextAt(variable, "value") : runtime;
        }
      }
    }
    context.runtime = openshift_ ? "crio" : RuntimeFor(cluster, runtime);
    const bool toolkit =
        DecideToolkit(*policy, context.openshift, cluster.rhcos, cluster.system_known).enabled == 1;
    const DriverDivision own =
        DivideDrivers(DriverAskOf(*policy, toolkit), Named(), There("nvidia-driver-daemonset"));
    const DriverDivision host =
        DivideDrivers(HostDriverAskOf(*policy), Named(), There("nvidia-vgpu-manager-daemonset"));
    context.drivers = own.parts;
    context.host_drivers = host.parts;
    LabelRules rules = RulesOf(*policy, true);
    rules.open_drivers = own.open;

    DriversAsked asked;
    asked.objects = drivers_;
    asked.off = by_driver_objects_ ? "" : "off";
    asked.nodes = Named();
    for (const std::string& selector : SelectorsOf(drivers_)) {
      for (const auto& [name, node] : nodes_) {
        if (("\n" + node.labels).find("\n" + selector + "\n") != std::string::npos) {
          asked.selections[selector].insert(name);
        }
      }
    }
    const DriverPlan plan = PlanDrivers(asked, context);
    if (Label(rules, plan.owners)) {
      return true;  // objects wait
    }
    const std::vector<DesiredOperand> operands = DesiredOperands(context, true);
    std::vector<const Json*> desired;
    std::set<Incomplete> incomplete;
    const auto add = [&](const Objects& objects) {
      for (const Json& object : objects) {
        desired.push_back(&object);
      }
    };
    for (const DesiredOperand& operand : operands) {
      EXPECT_EQ(operand.mistake, "");
      add(operand.objects);
      if (!IsWhole(operand)) {
        incomplete.insert({"u", std::string(operand.operand->state)});
      }
    }
    for (const DriverOutcome& driver : plan.drivers) {
      add(driver.objects);
      if (!IsWhole(driver)) {
        incomplete.insert({driver.uid});
      }
    }
    add(plan.shared);
    for (const Double& twice : TakeOutDoubles(desired, incomplete)) {
      ADD_FAILURE() << twice.message;
    }
    std::vector<Json> copies;
    for (const Json* object : desired) {
      copies.push_back(*object);
    }
    const Plan todo = MakePlan(copies, objects_, incomplete);
    for (const std::vector<Json>* list : {&todo.create, &todo.replace}) {
      for (const Json& object : *list) {
        objects_[KeyOfObject(object)] = object;
      }
    }
    for (const ObjectKey& key : todo.remove) {
      objects_.erase(key);
    }
    return !todo.empty();
  }

  std::mt19937 random_;
  bool openshift_ = false;
  bool by_driver_objects_ = false;
  Json spec_;
  std::vector<Json> drivers_;
  std::map<std::string, NodeFacts> nodes_;
  std::map<ObjectKey, Json> objects_;
};

// Its driver is for its own system, and for its own kernel if it is for one.
void ExpectItsOwnDriver(const Cluster& cluster, const std::string& name) {
  const NodeFacts& node = cluster.nodes().at(name);
  const std::vector<const Json*> sets = cluster.DriversOn(node);
  EXPECT_LE(sets.size(), 1U) << name;
  const std::string system = SystemTag(ValueIn(node.labels, names::kSystemId),
                                       ValueIn(node.labels, names::kSystemVersion));
  for (const Json* set : sets) {
    const std::string image =
        TextAt(ListAt(*set, "spec.template.spec.containers").front(), "image");
    EXPECT_TRUE(!system.empty() && image.ends_with("-" + system)) << name << " " << image;
    const std::string kernel(ValueIn(node.labels, names::kKernelVersion));
    EXPECT_TRUE(image == "r/driver:570-" + system ||
                image == "r/driver:570-" + kernel + "-" + system)
        << name << " " << image;
  }
}

TEST(RandomClusters, EveryNodeIsItsOwnAndNoOneElsesAffair) {
  for (unsigned seed = 1; seed <= kClusters && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    Cluster cluster(seed);
    cluster.AddNode();
    cluster.Settle();
    for (int joins = 0; joins < 3; ++joins) {
      const std::map<ObjectKey, Json> before = cluster.objects();
      const std::string fresh = cluster.AddNode();
      cluster.Settle();
      for (const auto& [key, object] : before) {
        const auto after = cluster.objects().find(key);
        ASSERT_TRUE(after != cluster.objects().end()) << fresh << " ends " << key.name;
        EXPECT_EQ(after->second, object) << fresh << " changes " << key.name;
      }
      for (const auto& [name, node] : cluster.nodes()) {
        ExpectItsOwnDriver(cluster, name);
      }
    }
  }
}

// Drivers that an earlier release made for nodes of every system.
TEST(RandomClusters, WhatAnEarlierReleaseMadeIsNarrowedOnceAndNoPodChanges) {
  for (unsigned seed = 1; seed <= kClusters && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    Cluster cluster(seed);
    cluster.AddNode();
    cluster.Settle();
    cluster.OpenSets();
    std::map<ObjectKey, Json> before = cluster.objects();
    cluster.Settle();
    for (const auto& [key, object] : before) {
      EXPECT_EQ(cluster.objects().at(key).value("spec", Json()), object.value("spec", Json()))
          << key.name;
    }
    for (int joins = 0; joins < 3; ++joins) {
      cluster.AddNode();
      cluster.Settle();
      for (const auto& [key, object] : before) {
        ASSERT_TRUE(cluster.objects().contains(key)) << key.name;
        Json pods = cluster.objects().at(key).value("spec", Json());
        Json pods_before = object.value("spec", Json());
        if (key.kind == "DaemonSet") {
          pods["template"]["spec"].erase("nodeSelector");
          pods_before["template"]["spec"].erase("nodeSelector");
        }
        EXPECT_EQ(pods, pods_before) << key.name;
      }
      before = cluster.objects();
    }
  }
}

}  // namespace
}  // namespace gantry::gpu_operator
