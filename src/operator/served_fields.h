// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// A CustomResourceDefinition of this release, with the needed parts only.
struct OwnDefinition {
  std::string name;                 // clusterpolicies.nvidia.com
  std::string kind;                 // ClusterPolicy
  std::string version;              // the version that is read and written
  std::vector<std::string> fields;  // sorted: "spec.driver", "spec.driver.env[].name", "spec.mig.*"
};
// The CRDs of deploy/crd_schema/definition-fields.json.
// kInvalid for another file.
Result<std::vector<OwnDefinition>> OwnDefinitions(const Json& file);

// This release's fields that the API server drops from every object, because the CRD in the cluster
// lacks them; for a missing parent field only the parent. `version` alone if it is not served. None
// for a third party's CRD.
std::vector<std::string> DroppedFields(const OwnDefinition& own, const Json& there);

// One sentence about such a CRD, and the remedy.
std::string OutdatedText(const OwnDefinition& own, const std::vector<std::string>& dropped);

}  // namespace gantry::gpu_operator
