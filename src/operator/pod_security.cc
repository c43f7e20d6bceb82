// SPDX-License-Identifier: Apache-2.0

// Does the namespace admit the operands' pods? They are privileged, and Pod Security admission
// rejects such pods in every namespace whose labels do not allow them.

#include "operator/pod_security.h"

#include "kube/object.h"
#include "operator/earlier.h"

namespace gantry::gpu_operator {
namespace {

constexpr char kMonitoring[] = "openshift.io/cluster-monitoring";

// The operator's value of a label.
std::string_view GivenTo(std::string_view label) {
  return label == kMonitoring ? "true" : "privileged";
}

Json EarlierLabels(const NamespaceFacts& ns) {
  auto earlier = ParseJson(ns.earlier);
  if (!earlier.has_value() || !earlier->is_object()) {
    return Json::object();
  }
  return *std::move(earlier);
}

}  // namespace

NamespaceFacts NamespaceFrom(const Json& ns) {
  NamespaceFacts facts;
  if (const Json* labels = At(ns, "metadata.labels"); labels != nullptr) {
    facts.labels = labels->get<Labels>();
  }
  if (const std::string* earlier = kube::AnnotationOf(ns, kEarlier); earlier != nullptr) {
    facts.earlier = *earlier;
  }
  return facts;
}

Json NamespacePatch(const NamespaceFacts& ns, bool privileged, bool monitored) {
  Json wanted = Json::object();
  if (monitored && !ns.labels.contains(kMonitoring)) {
    wanted[kMonitoring] = GivenTo(kMonitoring);
  }
  for (const char* mode : {"enforce", "audit", "warn"}) {
    const std::string key = std::string("pod-security.kubernetes.io/") + mode;
    if (privileged && ValueOf(ns.labels, key) != GivenTo(key)) {
      wanted[key] = GivenTo(key);
    }
  }
  if (wanted.empty()) {
    return {};
  }
  Json earlier = EarlierLabels(ns);
  for (const auto& [key, value] : wanted.items()) {
    if (!earlier.contains(key)) {
      earlier[key] = nullptr;
      if (const auto known = ns.labels.find(key); known != ns.labels.end()) {
        earlier[key] = known->second;
      }
    }
  }
  return {
      {"metadata", {{"labels", std::move(wanted)}, {"annotations", {{kEarlier, earlier.dump()}}}}}};
}

Json NamespaceRestored(const NamespaceFacts& ns) {
  if (ns.earlier.empty()) {
    return {};
  }
  Json patch = {{"metadata", {{"annotations", {{kEarlier, nullptr}}}}}};
  const Json earlier = EarlierLabels(ns);
  for (const auto& [key, value] : earlier.items()) {
    if (ValueOf(ns.labels, key) == GivenTo(key)) {
      patch["metadata"]["labels"][key] = value;
    }
  }
  return patch;
}

}  // namespace gantry::gpu_operator
