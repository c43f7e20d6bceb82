// SPDX-License-Identifier: Apache-2.0
// What does every Kubernetes object have in common? The metadata of meta/v1 ObjectMeta, in plain
// JSON values. Gantry uses some twenty kinds; types generated for the entire API would be larger
// than everything else here.
#include "kube/object.h"

#include "base/text.h"

namespace gantry::kube {
namespace {

const std::string* TextOf(const Json& object, std::string_view map, std::string_view key) {
  const Json* value = At(object, {"metadata", map, key});
  return value != nullptr ? value->get_ptr<const std::string*>() : nullptr;
}

}  // namespace

std::string Key::Text() const { return ns.empty() ? name : ns + '/' + name; }

Key Key::FromText(std::string_view text) {
  const size_t slash = text.find('/');
  return slash == std::string_view::npos ? Key{.ns = "", .name = std::string(text)}
                                         : Key{.ns = std::string(text.substr(0, slash)),
                                               .name = std::string(text.substr(slash + 1))};
}

Key KeyOf(const Json& object) {
  return {.ns = TextAt(object, "metadata.namespace"), .name = TextAt(object, "metadata.name")};
}

std::string ResourceVersionOf(const Json& object) {
  return TextAt(object, "metadata.resourceVersion");
}

std::string UidOf(const Json& object) { return TextAt(object, "metadata.uid"); }

const std::string* LabelOf(const Json& object, std::string_view label) {
  return TextOf(object, "labels", label);
}

const std::string* AnnotationOf(const Json& object, std::string_view annotation) {
  return TextOf(object, "annotations", annotation);
}

Json NewObject(const Kind& kind, const Key& key) {
  Json object = {{"apiVersion", kind.ApiVersion()},
                 {"kind", std::string(kind.kind)},
                 {"metadata", {{"name", key.name}}}};
  if (kind.namespaced) {
    object["metadata"]["namespace"] = key.ns;
  }
  return object;
}

Json OwnerReference(const Json& owner, bool controller) {
  Json reference = {{"apiVersion", TextAt(owner, "apiVersion")},
                    {"kind", TextAt(owner, "kind")},
                    {"name", TextAt(owner, "metadata.name")},
                    {"uid", UidOf(owner)}};
  if (controller) {
    reference["controller"] = true;
    reference["blockOwnerDeletion"] = true;
  }
  return reference;
}

Json ReferenceTo(const Json& object) {
  Json reference = {{"apiVersion", TextAt(object, "apiVersion")},
                    {"kind", TextAt(object, "kind")},
                    {"name", TextAt(object, "metadata.name")}};
  for (const char* field : {"namespace", "uid", "resourceVersion"}) {
    const Json* value = At(object, {"metadata", field});
    if (value != nullptr) {
      reference[field] = *value;
    }
  }
  return reference;
}

}  // namespace gantry::kube
