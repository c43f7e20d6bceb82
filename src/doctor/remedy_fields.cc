// SPDX-License-Identifier: Apache-2.0
// Which fields does a remedy name? Usually those of the ClusterPolicy's sections; NVIDIADrivers and
// the operator's image have others.
#include "doctor/remedy_fields.h"

#include <array>
#include <span>
#include <utility>

#include "doctor/facts.h"

namespace gantry::doctor {
namespace {

bool IsNvidiaDrivers(std::string_view app) {
  return BringsDriver(app) && !app.starts_with("nvidia-driver-daemonset");
}

// Field by field; each may occur several times.
using Fields = std::span<const std::pair<std::string_view, std::string_view>>;

std::string Reworded(std::string remedy, Fields fields) {
  for (const auto& [field, other] : fields) {
    for (size_t at = remedy.find(field); at != std::string::npos;
         at = remedy.find(field, at + other.size())) {
      remedy.replace(at, field.size(), other);
    }
  }
  return remedy;
}

// The remedy in the fields of an NVIDIADriver.
std::string ForNvidiaDriver(std::string remedy) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFields = {{
      {"set driver.enabled=false", "exclude the nodes in its NVIDIADriver's nodeSelector"},
      {"its section in the ClusterPolicy", "its NVIDIADriver"},
      {"its section", "its NVIDIADriver"},
      {"driver.version", "spec.version of its NVIDIADriver"},
      {"driver.usePrecompiled", "spec.usePrecompiled"},
      {"driver.repoConfig", "spec.repoConfig"},
      {"driver.kernelModuleType", "spec.kernelModuleType"},
      {"driver.env", "spec.env"},
  }};
  return Reworded(std::move(remedy), kFields);
}

// The operator's image is also node feature discovery's, which has no section in the ClusterPolicy.
bool IsOfOperatorsImage(std::string_view app) {
  return app == kOperatorApp || app == "nvidia-node-feature-discovery-worker";
}

}  // namespace

std::string ForOperator(std::string remedy) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFields = {{
      {" in the ClusterPolicy", ""},
      {"repository, image and version of its section",
       "operator.repository, operator.image and operator.version of the chart"},
      {"imagePullSecrets of its section", "operator.imagePullSecrets of the chart"},
      {"imagePullPolicy of its section", "operator.imagePullPolicy of the chart"},
      {"resources.limits.memory of its section",
       "limits.memory in operator.resources of the chart"},
      {"resources of its section", "operator.resources of the chart"},
      {"daemonsets.priorityClassName", "operator.priorityClassName of the chart"},
  }};
  return Reworded(std::move(remedy), kFields);
}

std::string ForApp(std::string_view app, std::string remedy) {
  if (IsNvidiaDrivers(app)) {
    return ForNvidiaDriver(std::move(remedy));
  }
  return IsOfOperatorsImage(app) ? ForOperator(std::move(remedy)) : remedy;
}

}  // namespace gantry::doctor
