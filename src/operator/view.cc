// SPDX-License-Identifier: Apache-2.0

// What does the operator see of the cluster? One watch for each relevant kind; its own objects are
// selected by label, so that a cluster's other ConfigMaps and roles are never read. There is no
// watch of pods here: a DaemonSet's status counts them.

#include "operator/view.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/text.h"
#include "operator/earlier.h"
#include "operator/owned_kinds.h"
#include "operator/upgrade/observe.h"
#include "policy/kinds.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

std::string PolicyText(const Json& object) {
  Json kept = object;
  kept["metadata"].erase("managedFields");
  kept["metadata"].erase("annotations");
  kept["metadata"].erase("resourceVersion");
  return kept.dump();
}

std::vector<Json> Parsed(const kube::Cache<std::string>& cache) {
  std::vector<Json> objects;
  for (const auto& [key, text] : cache.Snapshot()) {
    auto object = ParseJson(*text);
    CHECK(object.has_value());
    objects.push_back(*std::move(object));
  }
  return objects;
}

OwnedFacts ProjectOwned(const Json& object) {
  OwnedFacts facts;
  facts.content = ContentOf(object);
  if (TextAt(object, "kind") == "DaemonSet") {
    facts.daemon_set = ProjectDaemonSet(object);
  }
  return facts;
}

// The keys of a ConfigMap, in order; '/' can't be in one.
std::string KeysText(const Json& config_map) {
  std::set<std::string> keys;
  for (const char* part : {"data", "binaryData"}) {
    if (const Json* entries = At(config_map, part); entries != nullptr) {
      for (const auto& entry : entries->items()) {
        keys.insert(entry.key());
      }
    }
  }
  return Join({keys.begin(), keys.end()}, "/");
}

std::string ServedText(const Json& definition, std::string_view version) {
  return IsServed(definition, version) ? "served" : "";
}

// The fields that NamespaceFrom reads.
std::string NamespaceText(const Json& object) {
  const NamespaceFacts ns = NamespaceFrom(object);
  Json kept = {{"metadata", {{"labels", ns.labels}}}};
  if (!ns.earlier.empty()) {
    kept["metadata"]["annotations"][kEarlier] = ns.earlier;
  }
  return kept.dump();
}

std::string SpecAndStatus(const Json& object) {
  Json kept = Json::object();
  for (const char* part : {"spec", "status"}) {
    if (object.contains(part)) {
      kept[part] = object[part];
    }
  }
  return kept.dump();
}

// Custom resources that are kept entirely: a line each, and an accessor.
struct EntireKind {
  const kube::Kind& kind;
  bool awaited;  // no decision before they were seen once
};
constexpr std::array kEntireKinds = std::to_array<EntireKind>({
    {policy::kClusterPolicy, true},
    {policy::kGpuClusterPolicy, true},
    {policy::kGpuCluster, true},
    {policy::kNvidiaDriver, true},
});

int Traces(const std::shared_ptr<const NodeFacts>& node) {
  return node != nullptr && upgrade::HasTraces(*node) ? 1 : 0;
}

}  // namespace

std::unique_ptr<View::OwnedCache> View::WatchOwned(const kube::Kind& kind) {
  return std::make_unique<OwnedCache>(
      client_, kind,
      kube::Selection{.ns = kind.namespaced ? ns_ : "",
                      .labels = format("{}={}", names::kManagedBy, names::kManagedByGantry)},
      ProjectOwned, Always(changes_.cluster), changes_.cluster);
}

std::unique_ptr<View::TextCache> View::WatchNamed(const kube::Kind& kind, const std::string& ns,
                                                  const std::string& name,
                                                  kube::Cache<std::string>::Project project) {
  auto watched = std::make_unique<TextCache>(
      client_, kind, kube::Selection{.ns = ns, .fields = "metadata.name=" + name},
      std::move(project), Always(changes_.cluster), changes_.cluster, AbsentIsEmpty());
  watched->watch.Start();
  return watched;
}

View::View(kube::Client& client, std::string ns, MasterConfig config,
           std::vector<OwnDefinition> definitions, ViewChanges changes)
    : client_(client),
      ns_(std::move(ns)),
      config_(std::move(config)),
      own_definitions_(std::move(definitions)),
      changes_(std::move(changes)),
      nodes_(
          client, kube::kinds::kNode, {},
          [this](const Json& node) { return ProjectNode(node, config_.nodes); },
          [this](const kube::Key& key, const auto& before, const auto& after) {
            upgrade_traces_ += Traces(after) - Traces(before);
            changes_.node(key.name);
            changes_.cluster();
          },
          [] {}),
      features_(client, ns_, config_, {.node = changes_.node, .cluster = changes_.cluster},
                [this] { return NodeNames(); }),
      service_monitors_{policy::kServiceMonitor},
      prometheus_rules_{policy::kPrometheusRule},
      constraints_{policy::kSecurityContextConstraints} {
  for (const EntireKind& each : kEntireKinds) {
    entire_.push_back(std::make_unique<TextCache>(
        client, each.kind, kube::Selection{}, PolicyText, Always(changes_.cluster), [] {},
        AbsentIsEmpty()));
  }
  for (const kube::Kind& kind : OwnedKinds()) {
    if (kind.group != names::kMonitoringGroup && kind.group != names::kSecurityGroup &&
        !IsOfClaims(kind)) {
      owned_.push_back(WatchOwned(kind));
    }
  }
}

void View::Start() {
  for (const auto& entire : entire_) {
    entire->watch.Start();
  }
  nodes_.watch.Start();
  features_.Start();
  for (const auto& owned : owned_) {
    owned->watch.Start();
  }
}

bool View::WaitSynced(const std::stop_token& stop) {
  for (size_t i = 0; i < entire_.size(); ++i) {
    if (kEntireKinds.at(i).awaited && !entire_[i]->cache.WaitSynced(stop)) {
      return false;
    }
  }
  if (!nodes_.cache.WaitSynced(stop) || !features_.WaitSynced(stop)) {
    return false;
  }
  LookAtOpenShift();
  LookAtMonitoring();
  for (const LateKind* late : LateKinds()) {
    if (!late->definition->cache.WaitSynced(stop)) {
      return false;
    }
  }
  LookAtOpenShift();
  const auto synced = [&](const auto& watched) { return watched->cache.WaitSynced(stop); };
  if (openshift_caches_.has_value() &&
      !(synced(openshift_caches_->version) && synced(openshift_caches_->proxy) &&
        synced(openshift_caches_->toolkit) && synced(constraints_.objects))) {
    return false;
  }
  return std::ranges::all_of(owned_, synced);
}

std::vector<Json> View::AllOf(const kube::Kind& kind) const {
  const auto found = std::ranges::find_if(
      entire_, [&](const auto& entire) { return entire->kind.kind == kind.kind; });
  CHECK(found != entire_.end());
  return Parsed((*found)->cache);
}

std::vector<Json> View::Policies() const { return AllOf(policy::kClusterPolicy); }

std::vector<Json> View::ShortPolicies() const { return AllOf(policy::kGpuClusterPolicy); }

std::vector<Json> View::GpuClusters() const { return AllOf(policy::kGpuCluster); }

std::vector<Json> View::Drivers() const { return AllOf(policy::kNvidiaDriver); }

std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> View::Nodes() const {
  std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> nodes;
  for (auto& [key, facts] : nodes_.cache.Snapshot()) {
    nodes.emplace_back(key.name, std::move(facts));
  }
  return nodes;
}

std::shared_ptr<const NodeFacts> View::Node(const std::string& name) const {
  return nodes_.cache.Get({"", name});
}

std::vector<std::string> View::NodeNames() const {
  std::vector<std::string> names;
  nodes_.cache.ForEach([&](const kube::Key& key, const NodeFacts&) { names.push_back(key.name); });
  return names;
}

FeatureStore::Features View::FeaturesOf(const std::string& node) const {
  return features_.Store()->Of(node);
}

std::string View::BrokenOf(const std::string& object) const {
  return features_.Store()->BrokenOf(object);
}
std::string View::MigHoldersOf(const std::string& node) const {
  return features_.Store()->MigHoldersOf(node);
}
bool View::HasFeature(const std::string& object) const { return features_.Store()->Has(object); }

std::optional<bool> View::ForeignGpusOf(const std::string& node) const {
  return features_.Store()->ForeignGpusOf(node);
}

bool View::ForeignFeatures() const { return features_.Store()->Foreign(); }

std::shared_ptr<const RuleSet> View::Rules() const { return features_.Rules(); }

std::map<ObjectKey, std::shared_ptr<const OwnedFacts>> View::Owned() const {
  std::map<ObjectKey, std::shared_ptr<const OwnedFacts>> all;
  const auto add = [&](const OwnedCache& owned) {
    for (const auto& [key, facts] : owned.cache.Snapshot()) {
      all.emplace(ObjectKey{std::string(owned.kind.kind), key.ns, key.name}, facts);
    }
  };
  for (const auto& owned : owned_) {
    add(*owned);
  }
  for (const LateKind* late : LateKinds()) {
    if (late->told == Served::kYes) {
      add(*late->objects);
    }
  }
  if (claim_caches_ != nullptr && claim_caches_->synced) {
    for (const auto& owned : claim_caches_->owned) {
      add(*owned);
    }
  }
  return all;
}

std::map<std::string, DaemonSetFacts> View::DaemonSets() const {
  std::map<std::string, DaemonSetFacts> sets;
  CacheOf("DaemonSet").cache.ForEach([&](const kube::Key& key, const OwnedFacts& facts) {
    sets.emplace(key.name, facts.daemon_set);
  });
  return sets;
}

View::ConfigMaps View::LookAtConfigMaps(const std::set<std::string>& names) {
  const std::lock_guard lock(named_mutex_);
  std::erase_if(config_maps_, [&](const auto& entry) { return !names.contains(entry.first); });
  ConfigMaps found;
  for (const std::string& name : names) {
    std::unique_ptr<TextCache>& watched = config_maps_[name];
    if (watched == nullptr) {
      watched = WatchNamed(kube::kinds::kConfigMap, ns_, name, KeysText);
    }
    if (const auto keys = watched->cache.Get({ns_, name}); keys != nullptr) {
      found.keys[name] = Split(*keys, '/');
    } else if (watched->cache.synced()) {
      found.missing.insert(name);
    }
  }
  return found;
}

std::map<std::string, std::set<std::string>> View::LookAtSelections(
    const std::set<std::string>& selectors) {
  const std::lock_guard lock(named_mutex_);
  std::erase_if(selections_, [&](const auto& entry) { return !selectors.contains(entry.first); });
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& selector : selectors) {
    std::unique_ptr<WatchedKind<bool>>& watched = selections_[selector];
    if (watched == nullptr) {
      watched = std::make_unique<WatchedKind<bool>>(
          client_, kube::kinds::kNode, kube::Selection{.labels = selector},
          [](const Json&) { return true; }, Always(changes_.cluster), changes_.cluster);
      watched->watch.Start();
    }
    if (watched->cache.synced()) {
      std::set<std::string>& names = found[selector];
      watched->cache.ForEach([&](const kube::Key& key, bool) { names.insert(key.name); });
    }
  }
  return found;
}

std::optional<NamespaceFacts> View::Namespace() {
  const std::lock_guard lock(named_mutex_);
  if (own_namespace_ == nullptr) {
    own_namespace_ = WatchNamed(kube::kinds::kNamespace, "", ns_, NamespaceText);
  }
  const auto text = own_namespace_->cache.Get({"", ns_});
  return text == nullptr ? std::nullopt
                         : std::optional(NamespaceFrom(ParseJson(*text).value_or(Json())));
}

std::vector<const View::LateKind*> View::LateKinds() const {
  return {&service_monitors_, &prometheus_rules_, &constraints_};
}

std::vector<std::string> View::LookAtDefinitions() {
  for (size_t i = definitions_.size(); i < own_definitions_.size(); ++i) {
    const OwnDefinition& own = own_definitions_[i];
    definitions_.push_back(
        WatchNamed(kube::kinds::kCustomResourceDefinition, "", own.name, [&own](const Json& there) {
          const std::vector<std::string> dropped = DroppedFields(own, there);
          return dropped.empty() ? "" : OutdatedText(own, dropped);
        }));
  }
  std::vector<std::string> outdated;
  for (size_t i = 0; i < definitions_.size(); ++i) {
    const auto text = definitions_[i]->cache.Get({"", own_definitions_[i].name});
    if (text != nullptr && !text->empty()) {
      outdated.push_back(*text);
    }
  }
  return outdated;
}

OpenShift View::LookAtOpenShift() {
  const Served constraints = LookAt(constraints_);
  if (constraints == Served::kNo) {
    openshift_caches_.reset();
    openshift_ = {};
    return openshift_;
  }
  if (constraints_.objects == nullptr) {
    return openshift_;  // not known yet
  }
  if (!openshift_caches_.has_value()) {
    openshift_caches_ = {
        WatchNamed(policy::kClusterVersion, "", "version", VersionOf),
        WatchNamed(policy::kProxy, "", "cluster", SpecAndStatus),
        WatchNamed(policy::kImageStream, "openshift", "driver-toolkit", SpecAndStatus)};
  }
  OpenShiftCaches& caches = *openshift_caches_;
  if (constraints != Served::kYes || !caches.version->cache.synced() ||
      !caches.proxy->cache.synced() || !caches.toolkit->cache.synced()) {
    return openshift_;
  }
  openshift_ = {};
  openshift_.constraints = true;
  if (const auto version = caches.version->cache.Get({"", "version"}); version != nullptr) {
    openshift_.version = *version;
  }
  if (const auto proxy = caches.proxy->cache.Get({"", "cluster"}); proxy != nullptr) {
    openshift_.proxy = ProxyOf(ParseJson(*proxy).value_or(Json()));
  }
  if (const auto stream = caches.toolkit->cache.Get({"openshift", "driver-toolkit"});
      stream != nullptr) {
    openshift_.toolkit = ToolkitOf(ParseJson(*stream).value_or(Json()));
  }
  return openshift_;
}

ClaimFacts View::LookAtClaims() {
  ClaimFacts facts;
  if (claim_caches_ == nullptr) {
    const kube::Kind& kind = kube::kinds::kResourceSlice;
    const auto group = client_.GetPath(format("/apis/{}/{}", kind.group, kind.version));
    if (!group.has_value() && group.error().kind == ErrorKind::kNotFound) {
      facts.served = Served::kNo;
      facts.server = TextAt(client_.GetPath("/version").value_or(Json()), "gitVersion");
      return facts;
    }
    if (!group.has_value()) {
      log::Warning("{}", group.error().message);
      return facts;
    }
    claim_caches_ = std::make_unique<ClaimCaches>();
    ClaimCaches& caches = *claim_caches_;
    caches.slices = std::make_unique<WatchedKind<SliceFacts>>(
        client_, kind, kube::Selection{.fields = format("spec.driver={}", names::kGpuDraDriver)},
        ProjectSlice, Always(changes_.cluster), changes_.cluster);
    caches.slices->watch.Start();
    for (const kube::Kind& owned : OwnedKinds()) {
      if (IsOfClaims(owned)) {
        caches.owned.push_back(WatchOwned(owned));
        caches.owned.back()->watch.Start();
      }
    }
  }
  ClaimCaches& caches = *claim_caches_;
  caches.synced =
      caches.slices->cache.synced() &&
      std::ranges::all_of(caches.owned, [](const auto& owned) { return owned->cache.synced(); });
  facts.served = caches.synced ? Served::kYes : Served::kUnknown;
  caches.slices->cache.ForEach([&](const kube::Key&, const SliceFacts& slice) {
    if (slice.devices) {
      facts.nodes.insert(slice.node);
    }
  });
  return facts;
}

MonitoringKinds View::LookAtMonitoring() {
  return {LookAt(service_monitors_), LookAt(prometheus_rules_)};
}

Served View::LookAt(LateKind& late) {
  const std::string name = format("{}.{}", late.kind.plural, late.kind.group);
  if (late.definition == nullptr) {
    late.definition = WatchNamed(
        kube::kinds::kCustomResourceDefinition, "", name,
        [&kind = late.kind](const Json& object) { return ServedText(object, kind.version); });
  }
  const auto served = late.definition->cache.Get({"", name});
  if (served == nullptr || served->empty()) {
    late.objects.reset();
    late.told = late.definition->cache.synced() ? Served::kNo : Served::kUnknown;
    return late.told;
  }
  if (late.objects == nullptr) {
    late.objects = WatchOwned(late.kind);
    late.objects->watch.Start();
  }
  late.told = late.objects->cache.synced() ? Served::kYes : Served::kUnknown;
  return late.told;
}

void View::Wrote(const Json& object) {
  auto& cache = CacheOf(TextAt(object, "kind")).cache;
  // If the watch was faster, it already has a controller's status, which the write's response
  // lacks.
  const auto known = cache.Get(kube::KeyOf(object));
  if (known == nullptr || known->content != ContentOf(object)) {
    cache.Upsert(object);
  }
}

void View::WroteNode(const Json& node) { nodes_.cache.Upsert(node); }

void View::Removed(const ObjectKey& key) { CacheOf(key.kind).cache.Remove({key.ns, key.name}); }

View::OwnedCache& View::CacheOf(std::string_view kind) const {
  for (const LateKind* late : LateKinds()) {
    if (late->kind.kind == kind) {
      CHECK(late->objects != nullptr);
      return *late->objects;
    }
  }
  const auto is_it = [&](const auto& owned) { return owned->kind.kind == kind; };
  if (claim_caches_ != nullptr) {
    const auto& of_claims = claim_caches_->owned;
    if (const auto found = std::ranges::find_if(of_claims, is_it); found != of_claims.end()) {
      return **found;
    }
  }
  const auto found = std::ranges::find_if(owned_, is_it);
  CHECK(found != owned_.end());
  return **found;
}

}  // namespace gantry::gpu_operator
