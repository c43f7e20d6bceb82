// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "kube/cache.h"
#include "kube/client.h"
#include "operator/claim_facts.h"
#include "operator/daemon_set_facts.h"
#include "operator/feature_watch.h"
#include "operator/monitoring_kinds.h"
#include "operator/node_facts.h"
#include "operator/object_key.h"
#include "operator/openshift.h"
#include "operator/pod_security.h"
#include "operator/rule_set.h"
#include "operator/served_fields.h"
#include "operator/watched_kind.h"

namespace gantry::gpu_operator {

// The kept parts of one of the operator's objects.
struct OwnedFacts {
  std::string content;        // as ContentOf
  DaemonSetFacts daemon_set;  // of DaemonSets
  bool operator==(const OwnedFacts&) const = default;
};

// Callbacks for changes. Called from the watches' threads; must not block.
struct ViewChanges {
  std::function<void()> cluster;                      // anything that the policy's state depends on
  std::function<void(const std::string& node)> node;  // what that node's labels depend on
};

// Everything the operator sees except pods (upgrade/watches.h): watches with the kept parts of each
// object.
class View {
 public:
  // `definitions`: the CRDs in the image.
  View(kube::Client& client, std::string ns, MasterConfig config,
       std::vector<OwnDefinition> definitions, ViewChanges changes);
  ~View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  void Start();
  // Blocks until everything was seen once; false if stopped before.
  bool WaitSynced(const std::stop_token& stop);

  [[nodiscard]] std::vector<Json> Policies() const;
  // Objects of gpu.nvidia.com/v1 GPUClusterPolicy.
  [[nodiscard]] std::vector<Json> ShortPolicies() const;
  // Objects of nvidia.com/v1alpha1 GPUCluster.
  [[nodiscard]] std::vector<Json> GpuClusters() const;
  [[nodiscard]] std::vector<Json> Drivers() const;  // NVIDIADrivers
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<const NodeFacts>>> Nodes() const;
  [[nodiscard]] std::shared_ptr<const NodeFacts> Node(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> NodeNames() const;
  // Nodes with any trace of a driver's upgrade; cheap to call.
  [[nodiscard]] long long upgrade_traces() const { return upgrade_traces_; }
  // As FeatureStore returns them.
  [[nodiscard]] FeatureStore::Features FeaturesOf(const std::string& node) const;
  [[nodiscard]] std::string BrokenOf(const std::string& object) const;
  [[nodiscard]] std::string MigHoldersOf(const std::string& node) const;
  [[nodiscard]] bool HasFeature(const std::string& object) const;
  [[nodiscard]] std::optional<bool> ForeignGpusOf(const std::string& node) const;
  // Whether an NFD's workers describe nodes.
  [[nodiscard]] bool ForeignFeatures() const;
  [[nodiscard]] std::shared_ptr<const RuleSet> Rules() const;
  // For the Prometheus operator's kinds: those that LookAtMonitoring last found.
  [[nodiscard]] std::map<ObjectKey, std::shared_ptr<const OwnedFacts>> Owned() const;
  [[nodiscard]] std::map<std::string, DaemonSetFacts> DaemonSets() const;

  // The known ConfigMaps of the namespace. Each is watched from the first call that names it until
  // a call without it.
  struct ConfigMaps {
    std::map<std::string, std::vector<std::string>> keys;  // of existing ones
    std::set<std::string> missing;                         // in neither: not known yet
  };
  ConfigMaps LookAtConfigMaps(const std::set<std::string>& names);
  // The nodes that each label selector matches, as the API server selects them; a selector whose
  // nodes are not known yet is left out. Each is watched from the first call that names it until a
  // call without it.
  std::map<std::string, std::set<std::string>> LookAtSelections(
      const std::set<std::string>& selectors);
  // The operator's namespace, watched from the first call on; nothing until it is known.
  std::optional<NamespaceFacts> Namespace();

  // Which of the Prometheus operator's kinds the cluster serves. Their CRDs are watched from the
  // first call on, and Gantry's objects while the CRD exists. Call this, Owned and Wrote on one
  // thread.
  MonitoringKinds LookAtMonitoring();

  // Whether GPUs can be given out by resource claims, and which nodes offer some. The first call
  // that finds resource.k8s.io/v1 served starts the watches of ResourceSlices and of Gantry's
  // DeviceClasses and admission policies; until then it blocks for a request. As LookAtMonitoring.
  ClaimFacts LookAtClaims();

  // Messages about CRDs in the cluster that are older than the image's. They are watched from the
  // first call on.
  std::vector<std::string> LookAtDefinitions();

  // The facts on an OpenShift cluster, as LookAtMonitoring. WaitSynced waits until this is known,
  // since all objects differ there.
  OpenShift LookAtOpenShift();

  // The result of a write, before the watch reports it.
  void Wrote(const Json& object);
  void WroteNode(const Json& node);
  void Removed(const ObjectKey& key);

 private:
  using OwnedCache = WatchedKind<OwnedFacts>;
  using TextCache = WatchedKind<std::string>;
  std::unique_ptr<OwnedCache> WatchOwned(const kube::Kind& kind);
  // One object, by name; started.
  std::unique_ptr<TextCache> WatchNamed(const kube::Kind& kind, const std::string& ns,
                                        const std::string& name,
                                        kube::Cache<std::string>::Project project);
  // Objects of a kind that is kept entirely.
  [[nodiscard]] std::vector<Json> AllOf(const kube::Kind& kind) const;
  // A kind that the cluster may lack.
  struct LateKind {
    const kube::Kind& kind;
    std::unique_ptr<TextCache> definition = nullptr;
    std::unique_ptr<OwnedCache> objects = nullptr;  // while the CRD exists
    Served told = Served::kUnknown;
  };
  Served LookAt(LateKind& late);
  [[nodiscard]] std::vector<const LateKind*> LateKinds() const;
  // The relevant objects of OpenShift's own; started if the cluster is an OpenShift.
  struct OpenShiftCaches {
    std::unique_ptr<TextCache> version;
    std::unique_ptr<TextCache> proxy;
    std::unique_ptr<TextCache> toolkit;
  };
  [[nodiscard]] OwnedCache& CacheOf(std::string_view kind) const;
  // Started if GPUs are given out by resource claims.
  struct ClaimCaches {
    std::vector<std::unique_ptr<OwnedCache>> owned;
    std::unique_ptr<WatchedKind<SliceFacts>> slices;
    bool synced = false;  // all of them, when they were last looked at
  };

  kube::Client& client_;
  const std::string ns_;
  const MasterConfig config_;
  const std::vector<OwnDefinition> own_definitions_;
  const ViewChanges changes_;
  std::atomic<long long> upgrade_traces_ = 0;
  WatchedKind<NodeFacts> nodes_;
  std::vector<std::unique_ptr<TextCache>> entire_;  // custom resources, kept entire
  std::vector<std::unique_ptr<OwnedCache>> owned_;
  FeatureWatch features_;
  std::mutex named_mutex_;
  std::map<std::string, std::unique_ptr<TextCache>> config_maps_;
  std::map<std::string, std::unique_ptr<WatchedKind<bool>>> selections_;
  std::unique_ptr<TextCache> own_namespace_;
  std::vector<std::unique_ptr<TextCache>> definitions_;  // as own_definitions_
  LateKind service_monitors_;
  LateKind prometheus_rules_;
  LateKind constraints_;
  std::optional<OpenShiftCaches> openshift_caches_;
  OpenShift openshift_;  // as last known
  std::unique_ptr<ClaimCaches> claim_caches_;
};

}  // namespace gantry::gpu_operator
