// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/error.h"
#include "policy/upgrade_policy.h"

namespace gantry::policy {

class SpecSection;

// What happens to pods and processes that hold a GPU whose MIG layout is to change.
enum class HolderAction {
  kFail,    // the change fails at once, and is made when the last of them has ended
  kWait,    // the change waits for them, up to the timeout
  kEvict,   // pods are evicted, within their disruption budgets, up to the timeout
  kDelete,  // pods are deleted, whatever their disruption budgets say
};
std::string_view Name(HolderAction action);  // "fail", "wait", "evict", "delete"

// migManager.gpuHolders of a ClusterPolicy. No process outside of pods is ever ended.
struct GpuHoldersSpec {
  HolderAction action = HolderAction::kFail;
  PodRemovalSpec removal = {};  // for kFail nothing counts, for kWait only the timeout
  bool operator==(const GpuHoldersSpec&) const = default;
};

// Absent fields keep the values of `spec`. The section keeps a mistake, with its field.
GpuHoldersSpec ReadGpuHolders(const SpecSection& section, GpuHoldersSpec spec);

// What a node's annotation names::kMigGpuHolders asks for: an action ("evict"), or an object of the
// same fields in JSON. Absent fields, and an empty annotation, keep the policy's values. kInvalid
// names the annotation and the field.
Result<GpuHoldersSpec> GpuHoldersOfNode(std::string_view annotation,
                                        const GpuHoldersSpec& of_policy);

}  // namespace gantry::policy
