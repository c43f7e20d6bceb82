// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/kind.h"

namespace gantry::kube {

// Which object of a kind. The namespace is empty for kinds without one.
struct Key {
  std::string ns;    // metadata.namespace
  std::string name;  // metadata.name

  auto operator<=>(const Key&) const = default;
  // "namespace/name", or "name": the form of work queue keys and messages.
  [[nodiscard]] std::string Text() const;
  static Key FromText(std::string_view text);
};

// From an object's metadata; absent fields are empty.
Key KeyOf(const Json& object);
std::string ResourceVersionOf(const Json& object);
std::string UidOf(const Json& object);
// The value of one label or annotation, or nullptr.
const std::string* LabelOf(const Json& object, std::string_view label);
const std::string* AnnotationOf(const Json& object, std::string_view annotation);

// {"apiVersion", "kind", "metadata": {"name"[, "namespace"]}}: the start of a built object.
Json NewObject(const Kind& kind, const Key& key);
// An entry for metadata.ownerReferences; `controller` sets blockOwnerDeletion and controller: the
// owner is the one object that manages the new one.
Json OwnerReference(const Json& owner, bool controller);
// The involved object of an event, and other ObjectReference fields (core/v1 ObjectReference).
Json ReferenceTo(const Json& object);

}  // namespace gantry::kube

template <>
struct std::hash<gantry::kube::Key> {
  size_t operator()(const gantry::kube::Key& key) const noexcept {
    return std::hash<std::string>()(key.ns) * 31 + std::hash<std::string>()(key.name);
  }
};
