// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/object.h"

namespace gantry::gpu_operator::upgrade {

// The fields of a Pod that matter for driver upgrades: only these are kept.
struct PodFacts {
  std::string node = {};
  std::string uid = {};
  std::string created = {};     // as Rfc3339 writes times
  std::string revision = {};    // label controller-revision-hash
  std::string daemon_set = {};  // that manages it; empty: none
  std::string digest = {};      // DRIVER_CONFIG_DIGEST, of a driver's pod
  std::string trouble = {};     // why a container does not run, its own message or the kubelet's
  bool managed = false;         // has a controller
  bool mirror = false;          // from a file on the node
  bool finished = false;
  bool deleting = false;
  bool ready = false;       // runs, with every container ready
  bool given_up = false;    // a container is not ready after more than 10 restarts
  bool init_fails = false;  // an init container fails repeatedly
  bool uses_gpus = false;   // requests GPUs or MIG devices
  // ResourceClaims that it uses, in its namespace: HoldsGpus tells which have GPUs.
  std::vector<std::string> claims = {};
  bool has_empty_dir = false;
  bool operator==(const PodFacts&) const = default;
};
PodFacts ProjectPod(const Json& pod);

// Whether the ResourceClaim (resource.k8s.io) has GPUs for a workload: devices of NVIDIA's DRA
// driver without adminAccess.
bool HoldsGpus(const Json& claim);

struct NamedPod {
  kube::Key key;
  PodFacts facts;
};

// The fields of a ControllerRevision (apps/v1): one version of a DaemonSet's template.
struct RevisionFacts {
  std::string daemon_set = {};
  std::string hash = {};    // controller-revision-hash of its pods
  std::string digest = {};  // DRIVER_CONFIG_DIGEST of its pods
  long long number = 0;     // the highest is the current one
  // Node labels that its pods require, packed: only those that are kept of every Node.
  std::string nodes = {};
  size_t pods = 0;  // a hash of its pods, without their node selector; 0: not known
  bool operator==(const RevisionFacts&) const = default;
};
RevisionFacts ProjectRevision(const Json& revision);

// Selects pods to watch.
struct PodQuery {
  std::string ns = {};      // empty: all namespaces
  std::string labels = {};  // a label selector; empty: all
  std::string node = {};    // empty: on all nodes
  auto operator<=>(const PodQuery&) const = default;
};

}  // namespace gantry::gpu_operator::upgrade
