// SPDX-License-Identifier: Apache-2.0

// How is an existing object of another owner taken over and restored? An object that operands need
// may already exist under its name: a distribution installs the RuntimeClass `nvidia`, with its own
// labels and perhaps another handler. It is taken over, since the operands need it, and restored
// when the operator is uninstalled.

#include "operator/earlier.h"

#include <algorithm>

#include "kube/object.h"
#include "operator/object_key.h"
#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// Made by this operator, or by NVIDIA's.
bool IsOperators(const Json& object) {
  const std::string* by = kube::LabelOf(object, names::kManagedBy);
  return (by != nullptr && *by == names::kManagedByGantry) ||
         kube::AnnotationOf(object, names::kLastAppliedHash) != nullptr || IsOwnedByPolicy(object);
}

}  // namespace

Json WithEarlier(const Json& desired, const Json& observed) {
  const std::string* known = kube::AnnotationOf(observed, kEarlier);
  if (known == nullptr && IsOperators(observed)) {
    return desired;
  }
  Json taken = desired;
  taken["metadata"].erase("ownerReferences");
  taken["metadata"]["annotations"][kEarlier] = known == nullptr ? ContentOf(observed) : *known;
  return taken;
}

Json EarlierOf(const Json& object) {
  const std::string* text = kube::AnnotationOf(object, kEarlier);
  if (text == nullptr) {
    return {};
  }
  auto earlier = ParseJson(*text);
  if (!earlier.has_value() || !earlier->is_object()) {
    return {};
  }
  return *std::move(earlier);
}

}  // namespace gantry::gpu_operator
