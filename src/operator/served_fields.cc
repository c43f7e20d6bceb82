// SPDX-License-Identifier: Apache-2.0

// Which fields does the API server drop from Gantry's objects? Helm does not update an existing
// CRD, so one of an earlier operator may be served: fields that it lacks are pruned from every
// object, without an error. So the served CRDs are compared with those in this release's image.

#include "operator/served_fields.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "operator/definitions.h"

namespace gantry::gpu_operator {
namespace {

const Json* SchemaOf(const Json& definition, std::string_view version) {
  for (const Json& one : ListAt(definition, "spec.versions")) {
    if (TextAt(one, "name") == version && BoolAt(one, "served", false)) {
      return At(one, "schema.openAPIV3Schema");
    }
  }
  return nullptr;
}

// "*" stands for any key, also deeper ones if nothing is pruned ("**").
void Collect(const Json& schema, const std::string& path, std::vector<std::string>& fields) {
  if (BoolAt(schema, "x-kubernetes-preserve-unknown-fields", false)) {
    fields.push_back(path + ".**");
  }
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    for (const auto& [key, field] : properties->items()) {
      const std::string name = path.empty() ? key : format("{}.{}", path, key);
      fields.push_back(name);
      Collect(field, name, fields);
    }
  }
  if (const auto items = schema.find("items"); items != schema.end() && items->is_object()) {
    Collect(*items, path + "[]", fields);
  }
  const auto more = schema.find("additionalProperties");
  if (more != schema.end() && more->is_object()) {
    fields.push_back(path + ".*");
    Collect(*more, path + ".*", fields);
  }
}

bool IsBelow(std::string_view path, std::string_view parent) {
  return path.size() > parent.size() && path.starts_with(parent) &&
         (path[parent.size()] == '.' || path[parent.size()] == '[');
}

// The API server keeps these in every object.
bool IsEverywhere(std::string_view path) {
  return path == "apiVersion" || path == "kind" || path == "metadata";
}

}  // namespace

Result<std::vector<OwnDefinition>> OwnDefinitions(const Json& file) {
  std::vector<OwnDefinition> all;
  for (const auto& [name, one] : file.items()) {
    OwnDefinition own{.name = name,
                      .kind = TextAt(one, "kind"),
                      .version = TextAt(one, "version"),
                      .fields = TextsAt(one, "fields")};
    if (own.kind.empty() || own.version.empty() || own.fields.empty()) {
      return Fail(ErrorKind::kInvalid, format("{}: kind, version and fields are missing", name));
    }
    all.push_back(std::move(own));
  }
  return all;
}

std::vector<std::string> DroppedFields(const OwnDefinition& own, const Json& there) {
  if (IsAnothers(there) || IsBeingDeleted(there)) {
    return {};
  }
  const Json* schema = SchemaOf(there, own.version);
  if (schema == nullptr) {
    return {own.version};
  }
  std::vector<std::string> served;
  Collect(*schema, "", served);
  const std::set<std::string, std::less<>> known(served.begin(), served.end());
  const auto kept = [&](const std::string& field) {
    return IsEverywhere(field) || known.contains(field) ||
           std::ranges::any_of(served, [&](const std::string& all) {
             const std::string_view open = std::string_view(all).substr(0, all.rfind(".**"));
             return all.ends_with(".**") && (open.empty() || IsBelow(field, open));
           });
  };
  std::vector<std::string> dropped;
  for (const std::string& field : own.fields) {
    const bool told = std::ranges::any_of(
        dropped, [&](const std::string& parent) { return IsBelow(field, parent); });
    if (!told && !kept(field)) {
      dropped.push_back(field);
    }
  }
  return dropped;
}

std::string OutdatedText(const OwnDefinition& own, const std::vector<std::string>& dropped) {
  constexpr size_t kShown = 8;
  const size_t shown = std::min(dropped.size(), kShown);
  std::string fields = Join({dropped.begin(), dropped.begin() + static_cast<long>(shown)}, ", ");
  if (dropped.size() > shown) {
    fields += format(" and {} more", dropped.size() - shown);
  }
  const size_t dot = own.name.find('.');
  return format(
      "the definition {} is another release's: the API server drops from every {} what it does not "
      "know: {}; run kubectl apply --server-side --force-conflicts -f crds/{}_{}.yaml with the "
      "file "
      "of the chart, and write the {} again (helm upgrade does both)",
      own.name, own.kind, fields, own.name.substr(dot + 1), own.name.substr(0, dot), own.kind);
}

}  // namespace gantry::gpu_operator
