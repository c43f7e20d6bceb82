// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

// The contents of the kubelet's protocol for drivers of dynamic resource allocation (v1, v1beta1),
// as plain values.
namespace gantry::kubelet::dra {

// A ResourceClaim, as the kubelet names it.
struct Claim {
  std::string ns;
  std::string uid;
  std::string name;
  auto operator<=>(const Claim&) const = default;
};

// A device of a claim that is ready for containers.
struct PreparedDevice {
  std::vector<std::string> requests;  // of the claim; of "a/b" only "a"
  std::string pool;
  std::string device;
  std::vector<std::string> cdi_ids;  // "vendor/class=name"
  auto operator<=>(const PreparedDevice&) const = default;
};

// Decides the kubelet's two calls. Called on several threads at once; may block, for less than the
// 45 seconds that the kubelet waits. The message of an error is in an event of the pod. Both are
// idempotent; the unpreparation of an unknown claim succeeds.
class ClaimHandler {
 public:
  virtual ~ClaimHandler() = default;
  virtual Result<std::vector<PreparedDevice>> Prepare(const Claim& claim) = 0;
  virtual Status Unprepare(const Claim& claim) = 0;
};

}  // namespace gantry::kubelet::dra
