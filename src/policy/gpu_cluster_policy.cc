// SPDX-License-Identifier: Apache-2.0

// Which ClusterPolicy does a GPUClusterPolicy amount to? Its sections have the same names, so each
// of its fields overrides the ClusterPolicy's. The chart always installs a ClusterPolicy, so a
// GPUClusterPolicy must count beside one.
#include "policy/gpu_cluster_policy.h"

#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

constexpr std::array kSections = {"driver", "devicePlugin", "migManager"};
constexpr std::array kFields = {"enabled", "version"};

bool SaysNothing(const Json* value) {
  if (value == nullptr || value->is_null()) {
    return true;
  }
  const auto* text = value->get_ptr<const std::string*>();
  return text != nullptr && text->empty();
}

// A section that the ClusterPolicy does not have. With any field but without `enabled`, it is
// enabled.
void LayCuda(const Json& short_form, Json& spec) {
  const Json* cuda = At(short_form, "spec.cuda");
  if (cuda == nullptr || cuda->is_null() || cuda->empty()) {
    return;
  }
  spec["cuda"] = *cuda;
  if (cuda->is_object() && SaysNothing(At(*cuda, "enabled"))) {
    spec["cuda"]["enabled"] = true;
  }
}

}  // namespace

LaidOver LayOver(const Json& short_form, const Json& policy) {
  LaidOver result;
  result.policy = policy.is_null()
                      ? Json{{"apiVersion", format("{}/v1", names::kNvidiaGroup)},
                             {"kind", "ClusterPolicy"},
                             {"metadata", {{"name", TextAt(short_form, "metadata.name")}}}}
                      : policy;
  Json& spec = result.policy["spec"];
  if (!spec.is_object()) {
    spec = Json::object();
  }
  for (const char* section : kSections) {
    for (const char* field : kFields) {
      const Json* said = At(short_form, {"spec", section, field});
      if (SaysNothing(said)) {
        continue;
      }
      const Json* before = At(policy, {"spec", section, field});
      if (!SaysNothing(before) && *before != *said) {
        result.overridden.push_back(format("{}.{}", section, field));
      }
      if (!spec[section].is_object()) {
        spec[section] = Json::object();
      }
      spec[section][field] = *said;
    }
  }
  LayCuda(short_form, spec);
  if (BoolAt(spec, "driver.useNvidiaDriverCRD", false)) {
    for (const char* field : kFields) {
      if (!SaysNothing(At(short_form, {"spec", "driver", field}))) {
        result.in_vain.push_back(format("driver.{}", field));
      }
    }
  }
  return result;
}

}  // namespace gantry::policy
