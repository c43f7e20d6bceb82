// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/client.h"
#include "operator/plan.h"
#include "operator/view.h"

namespace gantry::gpu_operator {

// Applies plans, and remembers how the API server stores what was written: an object that it
// normalises in a way the plan does not foresee is written once, not in a loop.
class Applier {
 public:
  Applier(kube::Client& client, View& view) : client_(client), view_(view) {}

  // The plan for these objects against the view; see MakePlan.
  Plan Compare(const std::vector<const Json*>& desired, const std::set<Incomplete>& incomplete);
  // The view of these objects.
  [[nodiscard]] std::map<ObjectKey, Json> Owned(const std::vector<ObjectKey>& keys) const;
  // Writes everything that it can; returns the first error. Blocks for the requests.
  Status Apply(const Plan& plan);

 private:
  Status Create(const Json& object);
  Status Replace(const Json& object);
  Status Remove(const ObjectKey& key, kube::Propagation propagation);
  void Settle(const Json& desired, const Json& stored);

  kube::Client& client_;
  View& view_;
  using Hashes = std::pair<size_t, size_t>;
  // Hashes of desired objects and of the stored ones that need no change.
  std::map<ObjectKey, Hashes> settled_;
};

}  // namespace gantry::gpu_operator
