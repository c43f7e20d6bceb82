// SPDX-License-Identifier: Apache-2.0

// What was there before? An object that operands need may be there by somebody else's hand under
// the same name: a distribution brings the RuntimeClass `nvidia`, with its own labels and perhaps
// with another handler. It is taken over, since the operands can't do without, and given back when
// the operator is uninstalled.

#include "operator/earlier.h"

#include <algorithm>

#include "kube/object.h"
#include "operator/object_key.h"
#include "operator/plan.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// By this operator, or by NVIDIA's.
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
