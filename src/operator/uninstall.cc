// SPDX-License-Identifier: Apache-2.0

// How is everything uninstalled? In an order in which nothing recreates what was removed: first the
// policy and the operator, then the operands, then each node restores itself and reports it by a
// Ready pod, then labels and objects. CRDs are deleted last, by manage-crds, after Helm has deleted
// its own objects of these kinds. Every step may find its work already done, so that a second run
// continues where the first one ended. All of it keeps to its deadline: a node that does not
// respond is named and skipped; its leftovers are harmless.

#include "operator/uninstall.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/command_line.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/events.h"
#include "operator/await_gone.h"
#include "operator/desired/host_cleanup.h"
#include "operator/earlier.h"
#include "operator/ignore_absent.h"
#include "operator/node_facts.h"
#include "operator/owned_kinds.h"
#include "operator/pod_security.h"
#include "operator/release.h"
#include "operator/some_names.h"
#include "operator/strip.h"
#include "operator/strip_nodes.h"
#include "policy/gpu_cluster.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kDeployment[] = "gpu-operator";
// The operator's pods, and those of this program: an earlier one may be on a node that is away.
constexpr char kChartPods[] = "app.kubernetes.io/component in (gpu-operator,gpu-operator-cleanup)";

constexpr char kNodeNotRestored[] = "NodeNotRestored";
constexpr seconds kGoes(15);  // a deleted object is gone by then, or something blocks it

struct Options {
  std::string ns;
  Release release;
  std::string instance;       // the operator's instance of node feature discovery
  bool all_policies = false;  // also those made by hand
  bool definitions = false;
  seconds timeout{120};
};

// The chart's labels.
bool IsOfChart(const Json& object) {
  const std::string* by = kube::LabelOf(object, names::kManagedBy);
  const std::string* part = kube::LabelOf(object, names::kComponent);
  return by != nullptr && *by == "Helm" && part != nullptr && *part == kDeployment;
}

bool IsReadyNode(const Json& node) { return ProjectNode(node).ready; }

class Uninstall {
 public:
  Uninstall(kube::Client& client, Options options)
      : client_(client),
        events_(client, names::kEventSource, "uninstall"),
        options_(std::move(options)),
        deadline_(RealClock().Now() + options_.timeout) {}

  Status Run() {
    ReadPolicy();
    StopOperator();
    if (context_.policy.dra_driver.enabled) {
      NameClaims();
    }
    TRY(DeletePolicies());
    TRY(DeleteOperands());
    TRY(CleanHosts());
    TRY(StripNodes(client_, options_.instance));
    TRY(DeleteObjects());
    if (options_.definitions) {
      TRY(DeleteDefinitions());
    }
    return RestoreNamespace();
  }

 private:
  // The settings for host cleanup; defaults if the policy is gone already.
  void ReadPolicy() {
    context_.ns = options_.ns;
    context_.release = options_.release;
    std::vector<Json> policies;
    auto listed = client_.List(policy::kClusterPolicy, {},
                               [&](Json item) { policies.push_back(std::move(item)); });
    if (policies.empty()) {
      listed = client_.List(policy::kGpuCluster, {}, [&](const Json& item) {
        policies.push_back(policy::PolicyOf(item, false));
      });
    }
    auto parsed = policy::Parse(policies.empty() ? Json::object() : policies.front());
    if (!parsed.has_value()) {
      parsed = policy::Parse(Json::object());
    }
    context_.policy = *std::move(parsed);
    if (!listed.has_value() && listed.error().kind != ErrorKind::kNotFound) {
      log::Warning("read ClusterPolicies: {}", listed.error().message);
    }
  }

  // A running operator would recreate everything. Without the right to stop it, the deletion of its
  // policies stops it too.
  void StopOperator() {
    const auto scaled = client_.MergePatch(kube::kinds::kDeployment, {options_.ns, kDeployment},
                                           {{"spec", {{"replicas", 0}}}});
    if (!scaled.has_value()) {
      if (scaled.error().kind != ErrorKind::kNotFound) {
        log::Warning("stop the operator: {}", scaled.error().message);
      }
      return;
    }
    const bool gone = WaitUntil(seconds(40), [&] {
      std::vector<Json> pods;
      return ListInto(kube::kinds::kPod, {options_.ns, "app=gpu-operator", ""}, pods).has_value() &&
             pods.empty();
    });
    log::Info("{}", gone ? "the operator is stopped" : "the operator's pod did not end in time");
  }

  // The kubelet ends a pod with a claim only with a DRA driver.
  void NameClaims() {
    std::vector<std::string> held;
    const auto listed = client_.List(kube::kinds::kResourceClaim, {}, [&](const Json& claim) {
      const Json& results = ListAt(claim, "status.allocation.devices.results");
      if (std::ranges::any_of(results, [](const Json& result) {
            return TextAt(result, "driver") == names::kGpuDraDriver;
          })) {
        held.push_back(kube::KeyOf(claim).Text());
      }
    });
    if (!listed.has_value()) {
      log::Warning("{}", listed.error().message);
    } else if (!held.empty()) {
      log::Warning(
          "claims still have GPUs: {}; their pods run on, and those that end now stay in "
          "Terminating until a DRA driver runs on their nodes again",
          SomeNames(held));
    }
  }

  // Policies made by hand stay with their CRDs, as with NVIDIA's chart.
  Status DeletePolicies() {
    for (const kube::Kind& kind : {policy::kClusterPolicy, policy::kGpuClusterPolicy,
                                   policy::kGpuCluster, policy::kNvidiaDriver}) {
      TRY(DeleteAll(kind, {}, [this](const Json& policy) {
        return options_.all_policies || options_.definitions || IsOfChart(policy);
      }));
    }
    return {};
  }

  // Pods on nodes that are not Ready can't end; all others must have ended before their hosts are
  // cleaned.
  Status DeleteOperands() {
    std::vector<Json> sets;
    TRY(ListInto(kube::kinds::kDaemonSet, Ours(), sets));
    std::vector<std::string> apps;
    for (const Json& set : sets) {
      const std::string name = TextAt(set, "metadata.name");
      TRY(IgnoreAbsent(client_.Delete(kube::kinds::kDaemonSet, {options_.ns, name})));
      apps.push_back(name);
    }
    for (const policy::Operand& operand : policy::Operands()) {
      if (!operand.daemon_set.empty()) {
        apps.emplace_back(operand.daemon_set);
      }
    }
    const kube::Selection pods{options_.ns, format("app in ({})", Join(apps, ",")), ""};
    const bool ended = WaitUntil(seconds(60), [&] { return OnlyOnAbsentNodes(pods); });
    log::Info("{}", ended ? "all operands have ended" : "some operands did not end in time");
    return ForgetPodsOnAbsentNodes(pods);
  }

  bool OnlyOnAbsentNodes(const kube::Selection& pods) {
    const Result<PodsByNode> left = PodsOf(pods);
    return left.has_value() && left->on_ready_nodes.empty();
  }

  // No kubelet there confirms that a pod ended. While the API server keeps such a pod, its
  // namespace can't be deleted, and this program's own Job can't complete. A kubelet that comes
  // back ends pods that the API server no longer has.
  Status ForgetPodsOnAbsentNodes(const kube::Selection& pods) {
    TRY_ASSIGN(const PodsByNode left, PodsOf(pods));
    for (const Json& pod : left.on_absent_nodes) {
      if (!TextAt(pod, "metadata.deletionTimestamp").empty()) {
        TRY(IgnoreAbsent(
            client_.Delete(kube::kinds::kPod, kube::KeyOf(pod), {.grace_seconds = 0})));
      }
    }
    return {};
  }

  struct PodsByNode {
    std::vector<Json> on_ready_nodes;
    std::vector<Json> on_absent_nodes;  // not Ready, or gone
  };

  Result<PodsByNode> PodsOf(const kube::Selection& selection) {
    std::vector<Json> pods;
    std::vector<Json> nodes;
    TRY(ListInto(kube::kinds::kPod, selection, pods));
    if (!pods.empty()) {
      TRY(ListInto(kube::kinds::kNode, {}, nodes));
    }
    std::set<std::string> ready;
    for (const Json& node : nodes) {
      if (IsReadyNode(node)) {
        ready.insert(TextAt(node, "metadata.name"));
      }
    }
    PodsByNode sorted;
    for (Json& pod : pods) {
      auto& side = ready.contains(TextAt(pod, "spec.nodeName")) ? sorted.on_ready_nodes
                                                                : sorted.on_absent_nodes;
      side.push_back(std::move(pod));
    }
    return sorted;
  }

  Status CleanHosts() {
    const Json set = HostCleanup(context_);
    const kube::Key key = kube::KeyOf(set);
    TRY(IgnoreAbsent(client_.Delete(kube::kinds::kDaemonSet, key)));
    Result<Json> created;
    WaitUntil(seconds(10), [&] {
      created = client_.Create(kube::kinds::kDaemonSet, set);
      return created.has_value() || created.error().kind != ErrorKind::kConflict;
    });
    if (!created.has_value()) {
      return std::unexpected(std::move(created).error());
    }
    std::map<std::string, Json> waiting;
    // The last seconds are for the cluster's objects.
    const seconds reserve(15);
    WaitUntil(std::chrono::ceil<seconds>(Left() - reserve),
              [&] { return NodesToWaitFor(key.name, waiting) && waiting.empty(); });
    for (const auto& [name, node] : waiting) {
      LeaveNode(name, node, "did not put itself back in time");
    }
    TRY(IgnoreAbsent(client_.Delete(kube::kinds::kDaemonSet, key)));
    const kube::Selection pods{options_.ns, "app=" + key.name, ""};
    WaitUntil(seconds(35), [&] { return OnlyOnAbsentNodes(pods); });
    return ForgetPodsOnAbsentNodes(pods);
  }

  // Helm deletes the Job of this program with its log: the event stays, for as long as the cluster
  // keeps events.
  void LeaveNode(const std::string& name, const Json& node, std::string_view why) {
    const std::string message =
        format("node {} {}; what it keeps is harmless, and `gantry host-cleanup` there removes it",
               name, why);
    log::Warning("{}", message);
    events_.Warning(node, kNodeNotRestored, message);
  }

  // Ready GPU nodes without a Ready cleanup pod, with references to them. False: unknown.
  bool NodesToWaitFor(const std::string& app, std::map<std::string, Json>& waiting) {
    std::vector<Json> nodes;
    std::vector<Json> pods;
    if (!ListInto(kube::kinds::kNode, {"", names::kGpuPresent, ""}, nodes).has_value() ||
        !ListInto(kube::kinds::kPod, {options_.ns, "app=" + app, ""}, pods).has_value()) {
      return false;
    }
    waiting.clear();
    for (const Json& node : nodes) {
      const std::string name = TextAt(node, "metadata.name");
      if (IsReadyNode(node)) {
        waiting[name] = kube::ReferenceTo(node);
      } else if (away_.insert(name).second) {
        LeaveNode(name, node, "is not Ready and is left as it is");
      }
    }
    for (const Json& pod : pods) {
      // A pod's Ready condition has the shape of a node's.
      if (IsReadyNode(pod)) {
        waiting.erase(TextAt(pod, "spec.nodeName"));
      }
    }
    return true;
  }

  Status DeleteObjects() {
    TRY(DeleteAll(policy::kNodeFeature, {options_.ns, "", ""}, IsOurNodeFeature));
    TRY(DeleteAll(policy::kDevice, Ours(""), [](const Json&) { return true; }));
    for (const kube::Kind& kind : OwnedKinds()) {
      kube::Selection ours = Ours();
      ours.ns = kind.namespaced ? options_.ns : "";
      TRY(GiveBack(kind, ours));
      TRY(DeleteAll(kind, ours, [](const Json&) { return true; }));
    }
    TRY(ForgetPodsOnAbsentNodes({options_.ns, kChartPods, ""}));
    return IgnoreAbsent(client_.Delete(kube::kinds::kLease, {options_.ns, names::kOperatorLease}));
  }

  // NodeFeature's CRD may be a third party's; Gantry's has its label.
  Status DeleteDefinitions() {
    std::vector<Json> definitions;
    std::set<std::string> ours;
    TRY(ListInto(kube::kinds::kCustomResourceDefinition, Ours(""), definitions));
    for (const Json& definition : definitions) {
      const std::string group = TextAt(definition, "spec.group");
      if (group == names::kNvidiaGroup || group == names::kGpuNvidiaGroup ||
          group == names::kNfdGroup) {
        const kube::Key key = kube::KeyOf(definition);
        TRY(IgnoreAbsent(client_.Delete(kube::kinds::kCustomResourceDefinition, key)));
        ours.insert(key.name);
      }
    }
    return AwaitGone(client_, std::move(ours), std::min<milliseconds>(Left(), kGoes));
  }

  // Objects that existed before, from other owners.
  Status GiveBack(const kube::Kind& kind, const kube::Selection& ours) {
    std::vector<Json> items;
    TRY(ListInto(kind, ours, items));
    for (const Json& item : items) {
      Json earlier = EarlierOf(item);
      if (earlier.is_null()) {
        continue;
      }
      const kube::Key key = kube::KeyOf(item);
      earlier["metadata"]["resourceVersion"] = kube::ResourceVersionOf(item);
      auto stored = client_.Replace(kind, earlier);
      if (!stored.has_value() && stored.error().kind == ErrorKind::kInvalid) {
        // An immutable field, such as a RuntimeClass' handler.
        TRY(IgnoreAbsent(client_.Delete(kind, key)));
        earlier["metadata"].erase("resourceVersion");
        stored = client_.Create(kind, earlier);
      }
      if (!stored.has_value()) {
        return std::unexpected(stored.error());
      }
      log::Info("{} {} is as it was before", kind.kind, key.name);
    }
    return {};
  }

  // Last: until now Gantry's pods may have needed admission.
  Status RestoreNamespace() {
    const auto ns = client_.Get(kube::kinds::kNamespace, {"", options_.ns});
    if (!ns.has_value()) {
      return IgnoreAbsent(std::unexpected(ns.error()));
    }
    if (const Json patch = NamespaceRestored(NamespaceFrom(*ns)); !patch.is_null()) {
      TRY(client_.MergePatch(kube::kinds::kNamespace, {"", options_.ns}, patch));
      log::Info("namespace {} has its earlier labels", options_.ns);
    }
    return {};
  }

  [[nodiscard]] kube::Selection Ours() const { return Ours(options_.ns); }
  static kube::Selection Ours(const std::string& ns) {
    return {ns, format("{}={}", names::kManagedBy, names::kManagedByGantry), ""};
  }

  Status ListInto(const kube::Kind& kind, const kube::Selection& selection,
                  std::vector<Json>& items) {
    const auto listed = client_.List(kind, selection, [&](Json item) {
      item["metadata"].erase("managedFields");
      items.push_back(std::move(item));
    });
    if (!listed.has_value() && listed.error().kind != ErrorKind::kNotFound) {
      return std::unexpected(listed.error());
    }
    return {};
  }

  // Deletes them and waits until none are left.
  Status DeleteAll(const kube::Kind& kind, const kube::Selection& selection,
                   const std::function<bool(const Json&)>& is_ours) {
    std::set<std::string> told;
    Status failed;
    const bool gone = WaitUntil(kGoes, [&] {
      std::vector<Json> items;
      failed = ListInto(kind, selection, items);
      if (!failed.has_value()) {
        return failed.error().kind == ErrorKind::kDenied;
      }
      std::erase_if(items, [&](const Json& item) { return !is_ours(item); });
      for (const Json& item : items) {
        if (const kube::Key key = kube::KeyOf(item); told.insert(key.Text()).second) {
          failed = IgnoreAbsent(client_.Delete(kind, key));
        }
      }
      return items.empty() || !failed.has_value();
    });
    if (failed.has_value() && !gone) {
      return Fail(ErrorKind::kTimeout, format("delete all {}: some are still there", kind.plural));
    }
    return failed;
  }

  [[nodiscard]] milliseconds Left() const {
    return std::chrono::duration_cast<milliseconds>(deadline_ - RealClock().Now());
  }

  // Polls, because the pod's Role has no right to watch, until the condition holds, or the time or
  // the entire deadline is over.
  bool WaitUntil(seconds at_most, const std::function<bool()>& holds) {
    const SteadyTime end = std::min(deadline_, RealClock().Now() + at_most);
    std::unique_lock lock(mutex_);
    while (!holds()) {
      if (RealClock().Now() >= end) {
        return false;
      }
      pause_.wait_for(lock, milliseconds(300));
    }
    return true;
  }

  kube::Client& client_;
  kube::EventRecorder events_;
  const Options options_;
  const SteadyTime deadline_;
  Context context_;
  std::set<std::string> away_;
  std::mutex mutex_;
  std::condition_variable pause_;
};

}  // namespace

int RunUninstall(int argc, char** argv) {
  Options options;
  long long timeout = 120;
  std::string kubeconfig;
  CLI::App app("Takes the GPU operator from the nodes and the cluster", "uninstall");
  app.add_option("--timeout", timeout, "Seconds for all of it")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_flag("--all-policies", options.all_policies,
               "Also policies and NVIDIADrivers that were made by hand");
  app.add_flag("--crds", options.definitions, "The same, and the custom resource definitions");
  app.add_option("--kubeconfig", kubeconfig, "Path of a kubeconfig; empty: in-cluster");
  app.add_option("--namespace", options.ns, "The operator's namespace; else OPERATOR_NAMESPACE");
  if (const std::optional<int> code = ParseOrExitCode(app, argc, argv)) {
    return *code;
  }
  options.timeout = seconds(timeout);
  if (options.ns.empty()) {
    options.ns = EnvironmentOr(names::kOperatorNamespace, "");
  }
  options.release.image = EnvironmentOr("OPERATOR_IMAGE", "");
  options.release.pull_policy =
      EnvironmentOr("OPERATOR_IMAGE_PULL_POLICY", options.release.pull_policy);
  options.release.pull_secrets = Split(EnvironmentOr("OPERATOR_IMAGE_PULL_SECRETS", ""), ',');
  options.instance = EnvironmentOr("NFD_MASTER_INSTANCE", "");
  if (options.ns.empty() || options.release.image.empty()) {
    log::Error("read environment: {} and OPERATOR_IMAGE must be set", names::kOperatorNamespace);
    return 2;
  }
  const Status status = [&]() -> Status {
    TRY_ASSIGN(kube::Config config, kube::LoadConfig(kubeconfig));
    kube::ClientOptions client_options;
    client_options.component = "uninstall";
    client_options.field_manager = names::kFieldManager;
    TRY_ASSIGN(const auto client, kube::Client::Create(std::move(config), client_options));
    return Uninstall(*client, options).Run();
  }();
  if (!status.has_value()) {
    log::Error("uninstall: {}", status.error().message);
    return 1;
  }
  log::Info("uninstalled");
  return 0;
}

}  // namespace gantry::gpu_operator
