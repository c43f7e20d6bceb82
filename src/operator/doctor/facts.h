// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

// What the doctor keeps of a cluster's objects: the few fields that explain why a GPU is not used.
namespace gantry::doctor {

using Labels = std::map<std::string, std::string>;
// Resources of NVIDIA ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", ...) by name.
using GpuCounts = std::map<std::string, long long>;

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, NoExecute, PreferNoSchedule
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;  // empty: every key
  bool exists = false;
  std::string value;
  std::string effect;  // empty: every effect
};

// One line of a node selector term: key, In/NotIn/Exists/DoesNotExist/Gt/Lt, values.
struct Requirement {
  std::string key;
  std::string op;
  std::vector<std::string> values;
};

struct NodeFacts {
  std::string name;
  bool ready = false;
  Labels labels;  // all: pods select by any
  std::vector<Taint> taints;
  GpuCounts capacity;
  GpuCounts allocatable;
};

struct PodFacts {
  std::string space;
  std::string name;
  std::string owner;  // "ReplicaSet x"; empty: none
  GpuCounts wants;    // what the scheduler looks for
  std::vector<Toleration> tolerations;
  Labels node_selector;
  std::vector<std::vector<Requirement>> node_terms;  // required affinity: one of them must hold
  std::string scheduler;                             // the scheduler's message, if it spoke
};

// A workload whose pods the API server refuses, as its controller's events tell.
struct RefusalFacts {
  std::string object;  // "Deployment default/x"
  std::string message;
};

struct OperandFacts {
  std::string name;
  long long desired = 0;
  long long ready = 0;
  long long updated = 0;
};

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason;
  std::string message;
};

struct PolicyFacts {
  std::string name;
  std::string state;  // ready, notReady, ignored; empty: the operator has not spoken yet
  std::vector<Condition> conditions;
  std::vector<std::string> unsupported_fields;
};

struct ClusterFacts {
  std::vector<NodeFacts> nodes;
  std::vector<PodFacts> pending;  // pods without a node that ask for GPUs
  std::vector<RefusalFacts> refusals;
  std::vector<OperandFacts> operands;
  std::vector<PolicyFacts> policies;
};

// From Kubernetes' objects (core/v1 Node and Pod, apps/v1 DaemonSet, nvidia.com/v1 ClusterPolicy).
NodeFacts NodeFrom(const Json& node);
PodFacts PodFrom(const Json& pod);
OperandFacts OperandFrom(const Json& daemon_set);
PolicyFacts PolicyFrom(const Json& policy);

// Whether a ReplicaSet, Job or other controller's object still lacks pods: its events of an hour
// ago may be history.
bool LacksPods(const Json& controller);

}  // namespace gantry::doctor
