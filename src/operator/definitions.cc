// SPDX-License-Identifier: Apache-2.0

// How does an upgrade change a CustomResourceDefinition? It gets this version's spec, and keeps
// other writers' metadata. A CRD of NVIDIA's operator is taken over; one of another node feature
// discovery is not, because an uninstallation would then delete it, and with it every NodeFeature.

#include "operator/definitions.h"

#include <algorithm>

#include "kube/object.h"
#include "policy/names.h"
#include "policy/yaml.h"

namespace gantry::gpu_operator {
namespace {

bool IsOurDefinition(const Json& definition) {
  const std::string* by = kube::LabelOf(definition, names::kManagedBy);
  return by != nullptr && *by == names::kManagedByGantry;
}

}  // namespace

Result<std::vector<Json>> ParseDefinitions(std::string_view yaml) {
  TRY_ASSIGN(std::vector<Json> documents, policy::ParseYamlDocuments(yaml));
  std::erase_if(documents, [](const Json& document) {
    return TextAt(document, "kind") != "CustomResourceDefinition";
  });
  for (const Json& definition : documents) {
    if (TextAt(definition, "metadata.name").empty()) {
      return Fail(ErrorKind::kInvalid, "a CustomResourceDefinition has no name");
    }
  }
  return documents;
}

bool IsAnothers(const Json& there) {
  return TextAt(there, "spec.group") == names::kNfdGroup && !IsOurDefinition(there);
}

Json DefinitionPatch(const Json& wanted) {
  Json patch = {{"spec", wanted.value("spec", Json::object())}};
  if (const Json* labels = At(wanted, "metadata.labels"); labels != nullptr) {
    patch["metadata"]["labels"] = *labels;
  }
  return patch;
}

bool IsEstablished(const Json& definition) {
  return std::ranges::any_of(ListAt(definition, "status.conditions"), [](const Json& condition) {
    return TextAt(condition, "type") == "Established" && TextAt(condition, "status") == "True";
  });
}

bool IsBeingDeleted(const Json& definition) {
  return At(definition, "metadata.deletionTimestamp") != nullptr;
}

std::string WhyStillThere(const Json& definition) {
  for (const Json& condition : ListAt(definition, "status.conditions")) {
    if (TextAt(condition, "type") == "Terminating") {
      return TextAt(condition, "message");
    }
  }
  return "the API server has not begun";
}

}  // namespace gantry::gpu_operator
