// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/cache.h"
#include "kube/client.h"
#include "operator/upgrade/pod_facts.h"

namespace gantry::gpu_operator::upgrade {

// Watches of pods and of the driver's revisions, each as long as it is in use. For one thread.
class Watches {
 public:
  // `changed` is called from the watches' threads and must not block.
  Watches(kube::Client& client, std::string ns, std::function<void()> changed);
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Watches exactly these from now on, and the revisions of the driver's DaemonSets if there is any
  // query. Blocks, at most a second for each watch that ends.
  void Use(const std::set<PodQuery>& queries);
  // Also watches this one.
  void Add(const PodQuery& query);

  struct Pods {
    bool seen = false;    // all were seen once
    std::string failure;  // why not; empty: the watch has just started
    std::vector<NamedPod> pods;
  };
  // The pods of one of the queries in use.
  [[nodiscard]] Pods PodsOf(const PodQuery& query) const;
  [[nodiscard]] std::vector<RevisionFacts> Revisions() const;
  [[nodiscard]] bool revisions_seen() const;

 private:
  struct PodWatch;
  struct RevisionWatch;

  kube::Client& client_;
  const std::string ns_;
  const std::function<void()> changed_;
  std::map<PodQuery, std::unique_ptr<PodWatch>> pods_;
  std::unique_ptr<RevisionWatch> revisions_;
};

// The driver's pods, and the ControllerRevisions of its DaemonSets.
inline constexpr char kDriverPods[] = "app.kubernetes.io/component=nvidia-driver";

}  // namespace gantry::gpu_operator::upgrade
