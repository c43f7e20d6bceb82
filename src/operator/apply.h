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

// Carries plans out, and remembers how the API server stores what it was given: an object that it
// normalises in a way the plan does not foresee is written once, not for ever.
class Applier {
 public:
  Applier(kube::Client& client, View& view) : client_(client), view_(view) {}

  // The plan for these objects against what the view shows; see MakePlan.
  Plan Compare(const std::vector<Json>& desired, const std::set<std::string>& incomplete) const;
  // Everything that can be written is; the first error is returned. Blocks for the requests.
  Status Carry(const Plan& plan);

 private:
  Status Create(const Json& object);
  Status Replace(const Json& object);
  Status Remove(const ObjectKey& key, kube::Propagation propagation);
  void Settle(const Json& desired, const Json& stored);

  kube::Client& client_;
  View& view_;
  // What was asked for and what was stored for it, as hashes.
  std::map<ObjectKey, std::pair<size_t, size_t>> settled_;
};

}  // namespace gantry::gpu_operator
