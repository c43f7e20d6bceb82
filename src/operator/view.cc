// SPDX-License-Identifier: Apache-2.0

// What does the operator see of the cluster? One watch for each kind that decides something;
// objects of its own are selected by label, so that a cluster's other ConfigMaps and roles are
// never read. There is no watch of pods here: a DaemonSet's status counts them.

#include "operator/view.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "operator/earlier.h"
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

// What SpaceFrom reads.
std::string SpaceText(const Json& object) {
  const SpaceFacts space = SpaceFrom(object);
  Json kept = {{"metadata", {{"labels", space.labels}}}};
  if (!space.earlier.empty()) {
    kept["metadata"]["annotations"][kEarlier] = space.earlier;
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

int Traces(const std::shared_ptr<const NodeFacts>& node) {
  return node != nullptr && upgrade::HasTraces(*node) ? 1 : 0;
}

kube::WatchOptions AbsentIsEmpty() {
  kube::WatchOptions options;
  options.absent_kind_is_empty = true;
  return options;
}

}  // namespace

const std::vector<kube::Kind>& OwnedKinds() {
  static const std::vector<kube::Kind> kKinds = {kube::kinds::kServiceAccount,
                                                 kube::kinds::kRole,
                                                 kube::kinds::kRoleBinding,
                                                 kube::kinds::kClusterRole,
                                                 kube::kinds::kClusterRoleBinding,
                                                 kube::kinds::kConfigMap,
                                                 kube::kinds::kService,
                                                 kube::kinds::kRuntimeClass,
                                                 kube::kinds::kDaemonSet,
                                                 policy::kServiceMonitor,
                                                 policy::kPrometheusRule,
                                                 policy::kSecurityContextConstraints};
  return kKinds;
}

const kube::Kind& OwnedKind(std::string_view name) {
  const auto found = std::ranges::find(OwnedKinds(), name, &kube::Kind::kind);
  CHECK(found != OwnedKinds().end());
  return *found;
}

View::OwnedCache::OwnedCache(kube::Client& client, const kube::Kind& of, const std::string& space,
                             const std::function<void()>& changed)
    : kind(of),
      cache(
          ProjectOwned, [changed](const kube::Key&, const auto&, const auto&) { changed(); },
          changed),
      watch(client, of,
            {.space = of.namespaced ? space : "",
             .labels = format("{}={}", names::kManagedBy, names::kManagedByGantry),
             .fields = ""},
            cache) {}

View::NamedCache::NamedCache(kube::Client& client, const kube::Kind& kind, const std::string& space,
                             const std::string& name, kube::Cache<std::string>::Project project,
                             const std::function<void()>& changed)
    : cache(
          std::move(project), [changed](const kube::Key&, const auto&, const auto&) { changed(); },
          changed),
      watch(client, kind, {.space = space, .labels = "", .fields = "metadata.name=" + name}, cache,
            AbsentIsEmpty()) {
  watch.Start();
}

View::SelectedNodes::SelectedNodes(kube::Client& client, const std::string& labels,
                                   const std::function<void()>& changed)
    : cache([](const Json&) { return true; },
            [changed](const kube::Key&, const auto&, const auto&) { changed(); }, changed),
      watch(client, kube::kinds::kNode, {.space = "", .labels = labels, .fields = ""}, cache) {
  watch.Start();
}

View::View(kube::Client& client, std::string space, MasterConfig config,
           std::vector<OwnDefinition> definitions, ViewChanges changes)
    : client_(client),
      space_(std::move(space)),
      config_(std::move(config)),
      own_definitions_(std::move(definitions)),
      changes_(std::move(changes)),
      policies_(PolicyText,
                [this](const kube::Key&, const auto&, const auto&) { changes_.cluster(); }),
      short_policies_(PolicyText,
                      [this](const kube::Key&, const auto&, const auto&) { changes_.cluster(); }),
      gpu_clusters_(PolicyText,
                    [this](const kube::Key&, const auto&, const auto&) { changes_.cluster(); }),
      drivers_(PolicyText,
               [this](const kube::Key&, const auto&, const auto&) { changes_.cluster(); }),
      nodes_([this](const Json& node) { return ProjectNode(node, config_.nodes); },
             [this](const kube::Key& key, const auto& before, const auto& after) {
               upgrade_traces_ += Traces(after) - Traces(before);
               changes_.node(key.name);
               changes_.cluster();
             }),
      rule_objects_(
          [](const Json& object) {
            const Json* rules = At(object, "spec.rules");
            return Json{{"rules", rules == nullptr ? Json::array() : *rules},
                        {"uid", kube::UidOf(object)},
                        {"generation", IntAt(object, "metadata.generation", 0)}}
                .dump();
          },
          [this](const kube::Key&, const auto&, const auto&) { RulesChanged(); },
          [this] { RulesChanged(); }),
      feature_spaces_(
          config_.feature_spaces.has_value()
              ? std::make_unique<kube::Cache<bool>>(
                    [](const Json&) { return true; },
                    [this](const kube::Key&, const auto&, const auto&) { RulesChanged(); },
                    [this] { RulesChanged(); })
              : nullptr),
      rules_(std::make_shared<const RuleSet>()),
      service_monitors_{policy::kServiceMonitor},
      prometheus_rules_{policy::kPrometheusRule},
      constraints_{policy::kSecurityContextConstraints},
      watch_policies_(client, policy::kClusterPolicy, {}, policies_, AbsentIsEmpty()),
      watch_short_policies_(client, policy::kGpuClusterPolicy, {}, short_policies_,
                            AbsentIsEmpty()),
      watch_gpu_clusters_(client, policy::kGpuCluster, {}, gpu_clusters_, AbsentIsEmpty()),
      watch_drivers_(client, policy::kNvidiaDriver, {}, drivers_, AbsentIsEmpty()),
      watch_nodes_(client, kube::kinds::kNode, {}, nodes_),
      watch_rules_(client, policy::kNodeFeatureRule, {}, rule_objects_, AbsentIsEmpty()),
      watch_feature_spaces_(
          feature_spaces_ == nullptr
              ? nullptr
              : std::make_unique<kube::Watch>(
                    client, kube::kinds::kNamespace,
                    kube::Selection{.labels = config_.feature_spaces.value_or("")},
                    *feature_spaces_)) {
  for (const kube::Kind& kind : OwnedKinds()) {
    if (kind.group != names::kMonitoringGroup && kind.group != names::kSecurityGroup) {
      owned_.push_back(std::make_unique<OwnedCache>(client, kind, space_, changes_.cluster));
    }
  }
}

// A store's watch tells this object of changes.
View::~View() {
  watch_rules_.Stop();
  watch_feature_spaces_.reset();
  std::shared_ptr<FeatureStore> filling;
  std::shared_ptr<FeatureStore> features;
  {
    const std::lock_guard lock(features_mutex_);
    filling = std::move(filling_);
    features = std::move(features_);
  }
}

void View::Start() {
  watch_policies_.Start();
  watch_short_policies_.Start();
  watch_gpu_clusters_.Start();
  watch_drivers_.Start();
  watch_nodes_.Start();
  watch_rules_.Start();
  if (watch_feature_spaces_ != nullptr) {
    watch_feature_spaces_->Start();
  }
  for (const auto& owned : owned_) {
    owned->watch.Start();
  }
}

bool View::WaitSynced(const std::stop_token& stop) {
  if (!policies_.WaitSynced(stop) || !short_policies_.WaitSynced(stop) ||
      !drivers_.WaitSynced(stop) || !nodes_.WaitSynced(stop)) {
    return false;
  }
  {
    std::unique_lock lock(features_mutex_);
    if (!store_made_.wait(lock, stop, [this] { return features_ != nullptr; })) {
      return false;
    }
  }
  LookAtOpenShift();
  LookAtMonitoring();
  for (const LateKind* late : LateKinds()) {
    if (!late->definition->cache.WaitSynced(stop)) {
      return false;
    }
  }
  LookAtOpenShift();
  const auto synced = [&](const NamedCache& named) { return named.cache.WaitSynced(stop); };
  if (openshift_caches_ != nullptr &&
      !(synced(openshift_caches_->version) && synced(openshift_caches_->proxy) &&
        synced(openshift_caches_->toolkit) && constraints_.objects->cache.WaitSynced(stop))) {
    return false;
  }
  return Store()->WaitSynced(stop) && std::ranges::all_of(owned_, [&](const auto& owned) {
           return owned->cache.WaitSynced(stop);
         });
}

std::vector<Json> View::Policies() const { return Parsed(policies_); }

std::vector<Json> View::ShortPolicies() const { return Parsed(short_policies_); }

std::vector<Json> View::GpuClusters() const { return Parsed(gpu_clusters_); }

std::vector<Json> View::Drivers() const { return Parsed(drivers_); }

std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> View::Nodes() const {
  std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> nodes;
  for (auto& [key, facts] : nodes_.Snapshot()) {
    nodes.emplace_back(key.name, std::move(facts));
  }
  return nodes;
}

std::shared_ptr<const NodeFacts> View::Node(const std::string& name) const {
  return nodes_.Get({"", name});
}

std::vector<std::string> View::NodeNames() const {
  std::vector<std::string> names;
  nodes_.ForEach([&](const kube::Key& key, const NodeFacts&) { names.push_back(key.name); });
  return names;
}

std::shared_ptr<FeatureStore> View::Store() const {
  const std::lock_guard lock(features_mutex_);
  return features_;
}

FeatureStore::Features View::FeaturesOf(const std::string& node) const { return Store()->Of(node); }

std::string View::BrokenOf(const std::string& node) const { return Store()->BrokenOf(node); }
bool View::HasFeature(const std::string& object) const { return Store()->Has(object); }

std::optional<bool> View::ForeignGpusOf(const std::string& node) const {
  return Store()->ForeignGpusOf(node);
}

bool View::ForeignFeatures() const { return Store()->Foreign(); }

std::shared_ptr<const RuleSet> View::Rules() const {
  const std::lock_guard lock(features_mutex_);
  return rules_;
}

std::shared_ptr<FeatureStore> View::MakeStore(const nfd::Needs& needs,
                                              std::set<std::string, std::less<>> spaces) {
  return std::make_shared<FeatureStore>(
      client_, space_,
      FeatureReading{.needs = needs,
                     .label_policy = config_.label_policy,
                     .spaces = std::move(spaces),
                     .labels = config_.labels,
                     .others_labels = config_.others_labels},
      FeatureStore::Changes{.node = changes_.node,
                            .cluster = changes_.cluster,
                            .synced = [this, number = ++stores_] { UseFilled(number); }});
}

// The store that was being filled is whole.
void View::UseFilled(int number) {
  std::shared_ptr<FeatureStore> old;
  {
    const std::lock_guard lock(features_mutex_);
    if (filling_ == nullptr || number != stores_) {
      return;
    }
    old = std::exchange(features_, std::move(filling_));
    filling_ = nullptr;
  }
  TellAllNodes();
}

void View::TellAllNodes() {
  for (const std::string& node : NodeNames()) {
    changes_.node(node);
  }
}

void View::RulesChanged() {
  if (!rule_objects_.synced() || (feature_spaces_ != nullptr && !feature_spaces_->synced())) {
    return;
  }
  std::set<std::string, std::less<>> spaces;
  if (feature_spaces_ != nullptr) {
    feature_spaces_->ForEach([&](const kube::Key& key, bool) { spaces.insert(key.name); });
    spaces.erase(space_);
  }
  std::vector<RuleText> objects;
  rule_objects_.ForEach([&](const kube::Key& key, const std::string& text) {
    if (auto object = ParseJson(text); object.has_value()) {
      objects.push_back({key.name, std::move((*object)["rules"]), TextAt(*object, "uid"),
                         IntAt(*object, "generation", 0)});
    }
  });
  auto set = std::make_shared<const RuleSet>(MakeRuleSet(objects));
  std::shared_ptr<FeatureStore> fresh;
  std::shared_ptr<FeatureStore> superseded;
  {
    const std::lock_guard lock(features_mutex_);
    rules_ = set;
    const auto& latest = filling_ != nullptr ? filling_ : features_;
    if (latest == nullptr || latest->reading().spaces != spaces ||
        !nfd::Covers(latest->reading().needs, set->needs)) {
      fresh = MakeStore(set->needs, std::move(spaces));
      if (features_ == nullptr) {
        features_ = fresh;
        store_made_.notify_all();
      } else {
        superseded = std::exchange(filling_, fresh);
      }
    }
  }
  if (fresh != nullptr) {
    fresh->Start();
  } else {
    TellAllNodes();
  }
}

std::map<ObjectKey, std::shared_ptr<const OwnedFacts>> View::Owned() const {
  std::map<ObjectKey, std::shared_ptr<const OwnedFacts>> all;
  const auto add = [&](const OwnedCache& owned) {
    for (const auto& [key, facts] : owned.cache.Snapshot()) {
      all.emplace(ObjectKey{std::string(owned.kind.kind), key.space, key.name}, facts);
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
    std::unique_ptr<NamedCache>& watched = config_maps_[name];
    if (watched == nullptr) {
      watched = std::make_unique<NamedCache>(client_, kube::kinds::kConfigMap, space_, name,
                                             KeysText, changes_.cluster);
    }
    if (const auto keys = watched->cache.Get({space_, name}); keys != nullptr) {
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
    std::unique_ptr<SelectedNodes>& watched = selections_[selector];
    if (watched == nullptr) {
      watched = std::make_unique<SelectedNodes>(client_, selector, changes_.cluster);
    }
    if (watched->cache.synced()) {
      std::set<std::string>& names = found[selector];
      watched->cache.ForEach([&](const kube::Key& key, bool) { names.insert(key.name); });
    }
  }
  return found;
}

std::optional<SpaceFacts> View::Space() {
  const std::lock_guard lock(named_mutex_);
  if (own_space_ == nullptr) {
    own_space_ = std::make_unique<NamedCache>(client_, kube::kinds::kNamespace, "", space_,
                                              SpaceText, changes_.cluster);
  }
  const auto text = own_space_->cache.Get({"", space_});
  return text == nullptr ? std::nullopt
                         : std::optional(SpaceFrom(ParseJson(*text).value_or(Json())));
}

std::vector<const View::LateKind*> View::LateKinds() const {
  return {&service_monitors_, &prometheus_rules_, &constraints_};
}

std::vector<std::string> View::LookAtDefinitions() {
  for (size_t i = definitions_.size(); i < own_definitions_.size(); ++i) {
    const OwnDefinition& own = own_definitions_[i];
    definitions_.push_back(std::make_unique<NamedCache>(
        client_, kube::kinds::kCustomResourceDefinition, "", own.name,
        [&own](const Json& there) {
          const std::vector<std::string> dropped = DroppedFields(own, there);
          return dropped.empty() ? "" : OutdatedText(own, dropped);
        },
        changes_.cluster));
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

View::OpenShiftCaches::OpenShiftCaches(kube::Client& client, const std::function<void()>& changed)
    : version(client, policy::kClusterVersion, "", "version", VersionOf, changed),
      proxy(client, policy::kProxy, "", "cluster", SpecAndStatus, changed),
      toolkit(client, policy::kImageStream, "openshift", "driver-toolkit", SpecAndStatus, changed) {
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
  if (openshift_caches_ == nullptr) {
    openshift_caches_ = std::make_unique<OpenShiftCaches>(client_, changes_.cluster);
  }
  OpenShiftCaches& caches = *openshift_caches_;
  if (constraints != Served::kYes || !caches.version.cache.synced() ||
      !caches.proxy.cache.synced() || !caches.toolkit.cache.synced()) {
    return openshift_;
  }
  openshift_ = {};
  openshift_.constraints = true;
  if (const auto version = caches.version.cache.Get({"", "version"}); version != nullptr) {
    openshift_.version = *version;
  }
  if (const auto proxy = caches.proxy.cache.Get({"", "cluster"}); proxy != nullptr) {
    openshift_.proxy = ProxyOf(ParseJson(*proxy).value_or(Json()));
  }
  if (const auto stream = caches.toolkit.cache.Get({"openshift", "driver-toolkit"});
      stream != nullptr) {
    openshift_.toolkit = ToolkitOf(ParseJson(*stream).value_or(Json()));
  }
  return openshift_;
}

MonitoringKinds View::LookAtMonitoring() {
  return {LookAt(service_monitors_), LookAt(prometheus_rules_)};
}

Served View::LookAt(LateKind& late) {
  const std::string name = format("{}.{}", late.kind.plural, late.kind.group);
  if (late.definition == nullptr) {
    late.definition = std::make_unique<NamedCache>(
        client_, kube::kinds::kCustomResourceDefinition, "", name,
        [&kind = late.kind](const Json& object) { return ServedText(object, kind.version); },
        changes_.cluster);
  }
  const auto served = late.definition->cache.Get({"", name});
  if (served == nullptr || served->empty()) {
    late.objects.reset();
    late.told = late.definition->cache.synced() ? Served::kNo : Served::kUnknown;
    return late.told;
  }
  if (late.objects == nullptr) {
    late.objects = std::make_unique<OwnedCache>(client_, late.kind, space_, changes_.cluster);
    late.objects->watch.Start();
  }
  late.told = late.objects->cache.synced() ? Served::kYes : Served::kUnknown;
  return late.told;
}

void View::Wrote(const Json& object) {
  auto& cache = CacheOf(TextAt(object, "kind")).cache;
  // Where the watch was quicker it has told of a controller's status by now, which the write's
  // answer lacks.
  const auto known = cache.Get(kube::KeyOf(object));
  if (known == nullptr || known->content != ContentOf(object)) {
    cache.Upsert(object);
  }
}

void View::WroteNode(const Json& node) { nodes_.Upsert(node); }

void View::Removed(const ObjectKey& key) { CacheOf(key.kind).cache.Remove({key.space, key.name}); }

View::OwnedCache& View::CacheOf(std::string_view kind) const {
  for (const LateKind* late : LateKinds()) {
    if (late->kind.kind == kind) {
      CHECK(late->objects != nullptr);
      return *late->objects;
    }
  }
  const auto found =
      std::ranges::find_if(owned_, [&](const auto& owned) { return owned->kind.kind == kind; });
  CHECK(found != owned_.end());
  return **found;
}

}  // namespace gantry::gpu_operator
