// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::gpu_operator {

// A CustomResourceDefinition as this release has it, without all that is not asked for.
struct OwnDefinition {
  std::string name;                 // clusterpolicies.nvidia.com
  std::string kind;                 // ClusterPolicy
  std::string version;              // the one that is read and written
  std::vector<std::string> fields;  // sorted: "spec.driver", "spec.driver.env[].name", "spec.mig.*"
};
// Those of deploy/crd_schema/definition-fields.json, but of kinds that nothing is done with.
// kInvalid if it is another.
Result<std::vector<OwnDefinition>> OwnDefinitions(const Json& file);

// The fields of ours that the API server drops from every object, because the definition in the
// cluster does not have them; of a field that is missing as a whole none of those below it.
// `version` alone where it is not served. None of a definition that is another's.
std::vector<std::string> DroppedFields(const OwnDefinition& own, const Json& there);

// One sentence about such a definition, and the cure.
std::string OutdatedText(const OwnDefinition& own, const std::vector<std::string>& dropped);

}  // namespace gantry::gpu_operator
