// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/error.h"
#include "kube/object.h"
#include "operands/metrics_exporter/claims.h"
#include "operands/metrics_exporter/pod_holders.h"
#include "operands/metrics_exporter/pod_labels.h"

namespace gantry::metrics_exporter {

// What the API server says of the pods of this node and of its devices. Keeps of each object only
// what series need.
class ClusterWatch {
 public:
  struct Options {
    std::string kubeconfig;         // empty: the pod's service account
    std::string node;               // empty: all nodes
    bool pods = false;              // uids and labels
    bool labels = false;            // of pods
    LabelFilter filter = {};        // which
    bool slices = false;            // devices of resource claims
    std::function<void()> changed;  // called from threads of its own
  };
  // An error: there is no usable service account or kubeconfig.
  static Result<std::unique_ptr<ClusterWatch>> Start(Options options);
  // Waits for its threads, about a second; nothing changes after it.
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  [[nodiscard]] std::map<kube::Key, PodFacts> Pods() const;
  [[nodiscard]] SliceDevices Devices() const;
  // Asks for those of these claims that are not known, if claims are asked for, and forgets others.
  // Each is asked for once: what was allocated stays so until the claim is gone.
  void WantClaims(std::set<kube::Key> claims);
  [[nodiscard]] Claims KnownClaims() const;

 private:
  class State;
  explicit ClusterWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gantry::metrics_exporter
