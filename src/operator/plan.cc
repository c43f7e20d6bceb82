// SPDX-License-Identifier: Apache-2.0

// What must be written so that the cluster has the desired objects? Nothing if it has them. The API
// server adds fields (defaults, a service's address) and drops empty ones, so equal objects differ
// in text; the table of these fields is here. An object that differs is replaced entirely: that
// also removes fields that another writer added, which a server-side apply would keep.

#include "operator/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "base/text.h"
#include "kube/object.h"
#include "operator/adopt.h"
#include "policy/kinds.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kRestartedAt[] = "kubectl.kubernetes.io/restartedAt";

// Fields that the API server drops when it stores an object.
bool IsEmpty(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return value.is_null() || value == false || value == 0 || (text != nullptr && text->empty()) ||
         (value.is_structured() && value.empty());
}

// Fields that the API server adds (apps/v1 and core/v1 defaulting, and fields that controllers
// set).
bool IsFilledIn(const std::string& key, const Json& value) {
  static const Json kDefaults = {
      {"terminationMessagePath", "/dev/termination-log"},
      {"terminationMessagePolicy", "File"},
      {"dnsPolicy", "ClusterFirst"},
      {"restartPolicy", "Always"},
      {"schedulerName", "default-scheduler"},
      {"terminationGracePeriodSeconds", 30},
      {"revisionHistoryLimit", 10},
      {"defaultMode", 420},
      {"protocol", "TCP"},
      {"sessionAffinity", "None"},
      {"internalTrafficPolicy", "Cluster"},
      {"timeoutSeconds", 1},
      {"periodSeconds", 10},
      {"successThreshold", 1},
      {"failureThreshold", 3},
      {"scheme", "HTTP"},
  };
  static constexpr std::array kAny = {"clusterIP",
                                      "clusterIPs",
                                      "ipFamilies",
                                      "ipFamilyPolicy",
                                      "serviceAccount",
                                      "nodePort",
                                      "externalTrafficPolicy",
                                      "allocateLoadBalancerNodePorts"};
  if (IsEmpty(value) || std::ranges::find(kAny, key) != kAny.end()) {
    return true;
  }
  if (key == "apiVersion") {
    return value == "v1";
  }
  if (key == "type") {
    return value == "ClusterIP";
  }
  const auto found = kDefaults.find(key);
  return found != kDefaults.end() && *found == value;
}

// A resource quantity as a number of its smallest common unit, so that "0.5" is "500m".
std::optional<long double> Quantity(const std::string& text) {
  size_t used = 0;
  long double number = 0;
  try {
    number = std::stold(text, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const std::string suffix = text.substr(used);
  static const std::map<std::string, long double> kUnits = {{"", 1},
                                                            {"n", 1e-9L},
                                                            {"u", 1e-6L},
                                                            {"m", 1e-3L},
                                                            {"k", 1e3L},
                                                            {"M", 1e6L},
                                                            {"G", 1e9L},
                                                            {"T", 1e12L},
                                                            {"P", 1e15L},
                                                            {"E", 1e18L},
                                                            {"Ki", 1024.0L},
                                                            {"Mi", 1048576.0L},
                                                            {"Gi", 1073741824.0L},
                                                            {"Ti", 1099511627776.0L},
                                                            {"Pi", 1125899906842624.0L},
                                                            {"Ei", 1152921504606846976.0L}};
  const auto unit = kUnits.find(suffix);
  return unit == kUnits.end() ? std::nullopt : std::optional(number * unit->second);
}

bool SameQuantity(const Json& left, const Json& right) {
  const auto text = [](const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  };
  const auto a = Quantity(text(left));
  const auto b = Quantity(text(right));
  // Decimal fractions are not exact: "0.5" and "500m" differ in their last bit.
  return a.has_value() && b.has_value() && std::abs(*a - *b) <= std::abs(*a) * 1e-12L;
}

// `inside` is the key of the two: maps of quantities compare by value.
bool SameValue(const Json& desired, const Json& observed, const std::string& inside) {
  if (desired.is_object() && observed.is_object()) {
    const bool quantities = inside == "limits" || inside == "requests";
    for (const auto& [key, value] : desired.items()) {
      const auto found = observed.find(key);
      if (found == observed.end()) {
        if (!IsEmpty(value)) {
          return false;
        }
      } else if (quantities ? !SameQuantity(value, *found) : !SameValue(value, *found, key)) {
        return false;
      }
    }
    return std::ranges::all_of(observed.items(), [&](const auto& item) {
      return desired.contains(item.key()) || IsFilledIn(item.key(), item.value());
    });
  }
  if (desired.is_array() && observed.is_array()) {
    return std::ranges::equal(
        desired, observed, [&](const Json& a, const Json& b) { return SameValue(a, b, inside); });
  }
  return desired == observed;
}

bool HasAll(const Json* desired, const Json* observed) {
  if (desired == nullptr) {
    return true;
  }
  return std::ranges::all_of(desired->items(), [&](const auto& item) {
    return observed != nullptr && observed->contains(item.key()) &&
           (*observed)[item.key()] == item.value();
  });
}

constexpr std::array kParts = {"labels", "annotations"};

// Keys in that part of the metadata that this operator wrote.
std::set<std::string> WrittenKeys(const Json& metadata, const char* part) {
  const Json* text = At(metadata, {"annotations", names::kWrittenKeys});
  const auto written = ParseJson(text == nullptr ? "{}" : text->get_ref<const std::string&>());
  if (!written.has_value()) {
    return {};  // another writer has overwritten it
  }
  const std::vector<std::string> keys = TextsAt(*written, part);
  return {keys.begin(), keys.end()};
}

// Whether something is left that was requested earlier.
bool HasLeftOver(const Json& desired, const Json& observed) {
  return std::ranges::any_of(kParts, [&](const char* part) {
    return std::ranges::any_of(WrittenKeys(observed, part), [&](const std::string& key) {
      return At(desired, {part, key}) == nullptr && At(observed, {part, key}) != nullptr;
    });
  });
}

bool SameMetadata(const Json& desired, const Json& observed) {
  if (!std::ranges::all_of(
          kParts,
          [&](const char* part) { return HasAll(At(desired, part), At(observed, part)); }) ||
      HasLeftOver(desired, observed)) {
    return false;
  }
  const Json* owners = At(desired, "ownerReferences");
  const Json* have = At(observed, "ownerReferences");
  return owners == nullptr || std::ranges::all_of(*owners, [&](const Json& owner) {
           return have != nullptr && std::ranges::find(*have, owner) != have->end();
         });
}

// Keys that others added.
void Keep(const Json& observed, const char* part, Json& metadata) {
  const Json* from = At(observed, {"metadata", part});
  if (from == nullptr) {
    return;
  }
  const std::set<std::string> written = WrittenKeys(observed["metadata"], part);
  for (const auto& [key, value] : from->items()) {
    if (At(metadata, {part, key}) == nullptr && !written.contains(key)) {
      metadata[part][key] = value;
    }
  }
}

// The template of a DaemonSet without the time of a manual restart, which is no difference.
Json WithoutRestart(Json spec) {
  if (At(spec, {"template", "metadata", "annotations", kRestartedAt}) != nullptr) {
    spec["template"]["metadata"]["annotations"].erase(kRestartedAt);
  }
  return spec;
}

// Whether an owner is of a kind that requests objects.
bool Asks(const Json& owner) {
  static constexpr std::array kKinds = {policy::kClusterPolicy, policy::kGpuClusterPolicy,
                                        policy::kGpuCluster, policy::kNvidiaDriver};
  return std::ranges::any_of(kKinds, [&](const kube::Kind& kind) {
    return TextAt(owner, "kind") == kind.kind &&
           TextAt(owner, "apiVersion").starts_with(format("{}/", kind.group));
  });
}

// The operand of an object; empty: it may be of any. NVIDIA's have no such label, and their
// DaemonSets have the same names.
std::string StateOf(const Json& object) {
  if (const std::string* label = kube::LabelOf(object, names::kOperandState); label != nullptr) {
    return *label;
  }
  const std::string name = TextAt(object, "metadata.name");
  const auto operand = std::ranges::find(policy::Operands(), name, &policy::Operand::daemon_set);
  return TextAt(object, "kind") == "DaemonSet" && operand != policy::Operands().end()
             ? std::string(operand->state)
             : "";
}

bool MayGo(const Json& object, const std::set<Incomplete>& incomplete) {
  const std::string state = StateOf(object);
  const Json& owners = ListAt(object, "metadata.ownerReferences");
  const auto is_missed = [&](const Json& owner) {
    return std::ranges::any_of(incomplete, [&](const Incomplete& part) {
      return part.owner == TextAt(owner, "uid") &&
             (part.state.empty() || state.empty() || part.state == state);
    });
  };
  return std::ranges::any_of(owners, Asks) && std::ranges::none_of(owners, is_missed);
}

// "state-driver of ClusterPolicy p (nodes a=b)"
std::string Described(const Json& object) {
  std::vector<std::string> owners;
  for (const Json& owner : ListAt(object, "metadata.ownerReferences")) {
    owners.push_back(format("{} {}", TextAt(owner, "kind"), TextAt(owner, "name")));
  }
  std::string text = format("{} of {}", StateOf(object), Join(owners, ", "));
  if (const Json* nodes = At(object, "spec.template.spec.nodeSelector"); nodes != nullptr) {
    std::vector<std::string> labels;
    for (const auto& [key, value] : nodes->items()) {
      labels.push_back(format("{}={}", key, value.get<std::string>()));
    }
    text += format(" (nodes with {})", Join(labels, ","));
  }
  return text;
}

// Removes the node selection from a DaemonSet's template.
Json WithoutNodes(Json pods) {
  if (At(pods, "spec.nodeSelector") != nullptr) {
    pods["spec"].erase("nodeSelector");
  }
  return pods;
}

// Marks a DaemonSet with OnDelete updates if its existing pods still match its template except for
// the nodes.
void TellNarrowed(const Json& observed, Json& object) {
  const Json* before = At(observed, "spec.template");
  const Json* after = At(object, "spec.template");
  if (before == nullptr || after == nullptr ||
      TextAt(object, "spec.updateStrategy.type") != "OnDelete") {
    return;
  }
  Json& annotations = object["metadata"]["annotations"];
  if (!SameValue(WithoutNodes(*after), WithoutNodes(*before), "template")) {
    annotations.erase(names::kNarrowed);
  } else if (!SameValue(*after, *before, "template")) {
    annotations[names::kNarrowed] = "true";
  }
}

}  // namespace

bool IsOwnedByPolicy(const Json& object) {
  return std::ranges::any_of(ListAt(object, "metadata.ownerReferences"), Asks);
}

bool SameIn(const std::string& key, const Json& desired, const Json& observed) {
  const auto left = desired.find(key);
  const auto right = observed.find(key);
  if (left == desired.end() || right == observed.end()) {
    return (left == desired.end() || IsEmpty(*left)) &&
           (right == observed.end() || IsEmpty(*right));
  }
  return SameValue(*left, *right, key);
}

bool IsAsDesired(const Json& desired, const Json& observed) {
  static const std::set<std::string> kApart = {"apiVersion", "kind", "metadata", "status"};
  for (const auto& [key, value] : desired.items()) {
    if (kApart.contains(key)) {
      continue;
    }
    const auto found = observed.find(key);
    const bool same = found == observed.end() ? IsEmpty(value)
                      : key == "spec"
                          ? SameValue(WithoutRestart(value), WithoutRestart(*found), key)
                          : SameValue(value, *found, key);
    if (!same) {
      return false;
    }
  }
  const bool extra = std::ranges::any_of(observed.items(), [&](const auto& item) {
    // A service account's secrets belong to other writers.
    return !kApart.contains(item.key()) && !desired.contains(item.key()) &&
           !IsEmpty(item.value()) && item.key() != "secrets" && item.key() != "imagePullSecrets";
  });
  return !extra && SameMetadata(desired["metadata"], observed.value("metadata", Json::object()));
}

Json Replacement(const Json& desired, const Json& observed) {
  Json object = desired;
  for (const char* part : kParts) {
    Keep(observed, part, object["metadata"]);
  }
  // The controller of a finalizer still has to clean up before the object is deleted.
  if (const Json* finalizers = At(observed, "metadata.finalizers"); finalizers != nullptr) {
    object["metadata"]["finalizers"] = *finalizers;
  }
  if (At(object, {"metadata", "annotations", names::kRendering}) != nullptr) {
    object["metadata"]["annotations"].erase(names::kAdopted);
  }
  for (const char* part : {"secrets", "imagePullSecrets"}) {
    if (observed.contains(part) && !object.contains(part)) {
      object[part] = observed[part];
    }
  }
  if (const Json* at =
          At(observed, {"spec", "template", "metadata", "annotations", kRestartedAt})) {
    object["spec"]["template"]["metadata"]["annotations"][kRestartedAt] = *at;
  }
  if (TextAt(object, "kind") == "DaemonSet") {
    TellNarrowed(observed, object);
  }
  return object;
}

std::vector<Double> TakeOutDoubles(std::vector<const Json*>& desired,
                                   std::set<Incomplete>& incomplete) {
  std::map<ObjectKey, const Json*> first;
  std::vector<Double> doubles;
  std::set<ObjectKey> out;
  std::erase_if(desired, [&](const Json* object) {
    const ObjectKey key = KeyOfObject(*object);
    const auto [place, is_first] = first.emplace(key, object);
    if (is_first || *place->second == *object) {
      return !is_first;
    }
    Double& twice = doubles.emplace_back();
    twice.key = key;
    twice.message = format(
        "{} {} is asked for twice, by {} and by {}; neither is written; an existing one stays: "
        "leave one of the two out, or give it another name",
        key.kind, key.name, Described(*place->second), Described(*object));
    for (const Json* each : {place->second, object}) {
      for (const Json& owner : ListAt(*each, "metadata.ownerReferences")) {
        twice.owners.insert(TextAt(owner, "uid"));
        incomplete.insert({TextAt(owner, "uid"), StateOf(*each)});
      }
    }
    out.insert(key);
    return true;
  });
  std::erase_if(desired, [&](const Json* object) { return out.contains(KeyOfObject(*object)); });
  return doubles;
}

Plan MakePlan(const std::vector<Json>& desired, const std::map<ObjectKey, Json>& observed,
              const std::set<Incomplete>& incomplete) {
  Plan plan;
  std::set<ObjectKey> wanted;
  for (const Json& object : desired) {
    const ObjectKey key = KeyOfObject(object);
    wanted.insert(key);
    const auto found = observed.find(key);
    if (found == observed.end()) {
      plan.create.push_back(object);
      continue;
    }
    const Json in_place = InPlaceOf(object, found->second);
    if (!IsAsDesired(in_place, found->second)) {
      plan.replace.push_back(Replacement(in_place, found->second));
    }
  }
  for (const auto& [key, object] : observed) {
    if (!wanted.contains(key) && MayGo(object, incomplete)) {
      plan.remove.push_back(key);
    }
  }
  return plan;
}

}  // namespace gantry::gpu_operator
