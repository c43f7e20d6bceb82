// SPDX-License-Identifier: Apache-2.0

// May the operands' pods into their namespace? They are privileged, and Pod Security admission
// keeps such pods out of every namespace that does not say otherwise by its labels.

#include "operator/pod_security.h"

#include "kube/object.h"
#include "operator/earlier.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kMonitoring[] = "openshift.io/cluster-monitoring";

// What the operator gives a label.
std::string_view GivenTo(std::string_view label) {
  return label == kMonitoring ? "true" : "privileged";
}

Json EarlierLabels(const SpaceFacts& space) {
  auto earlier = ParseJson(space.earlier);
  if (!earlier.has_value() || !earlier->is_object()) {
    return Json::object();
  }
  return *std::move(earlier);
}

}  // namespace

SpaceFacts SpaceFrom(const Json& space) {
  SpaceFacts facts;
  if (const Json* labels = At(space, "metadata.labels"); labels != nullptr) {
    facts.labels = labels->get<Labels>();
  }
  if (const std::string* earlier = kube::AnnotationOf(space, kEarlier); earlier != nullptr) {
    facts.earlier = *earlier;
  }
  return facts;
}

Json NamespacePatch(const SpaceFacts& space, bool privileged, bool monitored) {
  Json wanted = Json::object();
  if (monitored && !space.labels.contains(kMonitoring)) {
    wanted[kMonitoring] = GivenTo(kMonitoring);
  }
  for (const char* mode : {"enforce", "audit", "warn"}) {
    const std::string key = std::string("pod-security.kubernetes.io/") + mode;
    if (privileged && ValueOf(space.labels, key) != GivenTo(key)) {
      wanted[key] = GivenTo(key);
    }
  }
  if (wanted.empty()) {
    return {};
  }
  Json earlier = EarlierLabels(space);
  for (const auto& [key, value] : wanted.items()) {
    if (!earlier.contains(key)) {
      earlier[key] = nullptr;
      if (const auto known = space.labels.find(key); known != space.labels.end()) {
        earlier[key] = known->second;
      }
    }
  }
  return {
      {"metadata", {{"labels", std::move(wanted)}, {"annotations", {{kEarlier, earlier.dump()}}}}}};
}

Json SpaceRestored(const SpaceFacts& space) {
  if (space.earlier.empty()) {
    return {};
  }
  Json patch = {{"metadata", {{"annotations", {{kEarlier, nullptr}}}}}};
  const Json earlier = EarlierLabels(space);
  for (const auto& [key, value] : earlier.items()) {
    if (ValueOf(space.labels, key) == GivenTo(key)) {
      patch["metadata"]["labels"][key] = value;
    }
  }
  return patch;
}

}  // namespace gantry::gpu_operator
