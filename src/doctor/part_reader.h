// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/error.h"
#include "doctor/facts.h"
#include "kube/client.h"

namespace gantry::doctor {

// Reads lists into facts; a part without the right to read it is a fact as well. It owns neither.
class PartReader {
 public:
  PartReader(kube::Client& client, ClusterFacts& cluster) : client_(client), cluster_(cluster) {}

  // A missing permission is a fact; a missing kind is an empty list (its absence is a finding).
  Status Take(const std::string& what, const Status& status);
  // Blocks until every object was passed to `item`.
  Status List(const kube::Kind& kind, const kube::Selection& selection,
              const kube::Client::ItemSink& item);

  [[nodiscard]] kube::Client& client() const { return client_; }
  // Whether the API server has answered a list: one that never has is unreachable.
  [[nodiscard]] bool answered() const { return answered_; }

 private:
  kube::Client& client_;
  ClusterFacts& cluster_;
  bool answered_ = false;
};

// The error of a result, if it has one.
Status StatusOf(const Result<Json>& object);

}  // namespace gantry::doctor
