// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/json.h"
#include "operator/monitoring_kinds.h"

namespace gantry::gpu_operator {

// The kept parts of a ResourceSlice (resource.k8s.io/v1).
struct SliceFacts {
  std::string node;  // spec.nodeName
  bool devices = false;
  bool operator==(const SliceFacts&) const = default;
};
SliceFacts ProjectSlice(const Json& slice);

// What the API server knows of GPUs by resource claims.
struct ClaimFacts {
  Served served = Served::kUnknown;  // resource.k8s.io/v1
  std::string server = {};           // the API server's version ("v1.33.4"), if it is not served
  std::set<std::string> nodes = {};  // those whose DRA driver offers a device
};

// Why a GPUCluster can't be acted on with an API server of that version; empty: not known.
std::string ClaimsNotServed(const std::string& server);

}  // namespace gantry::gpu_operator
