// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/object.h"

namespace gantry::gpu_operator::upgrade {

// What of a Pod decides anything in an upgrade of drivers: all that is kept of it.
struct PodFacts {
  std::string node = {};
  std::string uid = {};
  std::string created = {};     // as Rfc3339 writes times
  std::string revision = {};    // label controller-revision-hash
  std::string daemon_set = {};  // that manages it; empty: none
  std::string digest = {};      // DRIVER_CONFIG_DIGEST, of a driver's pod
  std::string trouble = {};     // why a container does not run, as it or the kubelet says it
  bool managed = false;         // by any controller
  bool mirror = false;          // of a file on the node
  bool finished = false;
  bool deleting = false;
  bool ready = false;       // runs, with every container ready
  bool given_up = false;    // a container is not ready after more than 10 restarts
  bool init_fails = false;  // an init container that is to end well did not, again and again
  bool uses_gpus = false;   // asks for GPUs or MIG devices
  // ResourceClaims that it uses, in its namespace: HoldsGpus says of what.
  std::vector<std::string> claims = {};
  bool has_empty_dir = false;
  bool operator==(const PodFacts&) const = default;
};
PodFacts ProjectPod(const Json& pod);

// Whether the ResourceClaim (resource.k8s.io) has GPUs for somebody's work: devices of NVIDIA's DRA
// driver that were not given for administration alone.
bool HoldsGpus(const Json& claim);

struct NamedPod {
  kube::Key key;
  PodFacts facts;
};

// What of a ControllerRevision (apps/v1): one state of a DaemonSet's template.
struct RevisionFacts {
  std::string daemon_set = {};
  std::string hash = {};    // what its pods have as controller-revision-hash
  std::string digest = {};  // DRIVER_CONFIG_DIGEST of its pods
  long long number = 0;     // the highest is the current one
  // Labels that its pods ask of their node, packed: those that are kept of every Node.
  std::string nodes = {};
  size_t pods = 0;  // a hash of its pods, whatever nodes they are for; 0: not known
  bool operator==(const RevisionFacts&) const = default;
};
RevisionFacts ProjectRevision(const Json& revision);

// Which pods are to be seen.
struct PodQuery {
  std::string ns = {};      // empty: all namespaces
  std::string labels = {};  // a label selector; empty: all
  std::string node = {};    // empty: on all nodes
  auto operator<=>(const PodQuery&) const = default;
};

}  // namespace gantry::gpu_operator::upgrade
