// SPDX-License-Identifier: Apache-2.0

// What does one container of an operand's pod look like? Unset fields are left out: the API server
// adds its defaults, and operator/plan has them.

#include "operator/desired/container.h"

#include <algorithm>

namespace gantry::gpu_operator {

Container::Container(std::string_view name, const std::string& image, std::string_view pull_policy)
    : json_({{"name", name}, {"image", image}, {"imagePullPolicy", pull_policy}}) {}

Container& Container::Set(std::string_view key, Json value) {
  json_[std::string(key)] = std::move(value);
  return *this;
}

Container& Container::Use(const policy::OperandSpec& spec) {
  if (!spec.args.empty()) {
    json_["args"] = spec.args;
  }
  return Resources(spec.resources);
}

Container& Container::Resources(const Json& resources) {
  if (!resources.is_null()) {
    json_["resources"] = resources;
  }
  return *this;
}

Container& Container::Env(std::string_view name, std::string_view value) {
  Json entry = {{"name", name}, {"value", value}};
  const auto found = std::ranges::find_if(env_, [&](const Json& e) { return e["name"] == name; });
  if (found == env_.end()) {
    env_.push_back(std::move(entry));
  } else {
    *found = std::move(entry);
  }
  return *this;
}

Container& Container::Env(const policy::EnvVars& variables) {
  for (const auto& [name, value] : variables) {
    Env(name, value);
  }
  return *this;
}

Container& Container::EnvFromField(std::string_view name, std::string_view field_path) {
  env_.push_back(
      {{"name", name},
       {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", field_path}}}}}});
  return *this;
}

bool Container::HasEnv(std::string_view name) const {
  return std::ranges::any_of(env_, [&](const Json& entry) { return entry["name"] == name; });
}

std::string Container::EnvValue(std::string_view name) const {
  const auto found = std::ranges::find_if(env_, [&](const Json& e) { return e["name"] == name; });
  return found == env_.end() ? "" : TextAt(*found, "value");
}

Container& Container::Mount(std::string_view volume, std::string_view path, const MountAs& as) {
  Json entry = {{"name", volume}, {"mountPath", path}};
  if (as.read_only) {
    entry["readOnly"] = true;
  }
  if (!as.sub_path.empty()) {
    entry["subPath"] = as.sub_path;
  }
  if (as.propagation != Propagation::kNone) {
    entry["mountPropagation"] =
        as.propagation == Propagation::kFromHost ? "HostToContainer" : "Bidirectional";
  }
  json_["volumeMounts"].push_back(std::move(entry));
  return *this;
}

Container& Container::Port(std::string_view name, int number) {
  json_["ports"].push_back({{"name", name}, {"containerPort", number}, {"protocol", "TCP"}});
  return *this;
}

Container& Container::AtLevel0() {
  json_["securityContext"]["seLinuxOptions"]["level"] = "s0";
  return *this;
}

Container& Container::AsRoot() {
  json_["securityContext"]["runAsUser"] = 0;
  return *this;
}

Container& Container::Unprivileged() {
  return Set("securityContext", {{"allowPrivilegeEscalation", false},
                                 {"readOnlyRootFilesystem", true},
                                 {"runAsNonRoot", true},
                                 {"runAsUser", 65534},
                                 {"runAsGroup", 65534},
                                 {"capabilities", {{"drop", {"ALL"}}}},
                                 {"seccompProfile", {{"type", "RuntimeDefault"}}}});
}

Container& Container::BeforeStop(Words command) {
  json_["lifecycle"]["preStop"] = {{"exec", {{"command", Json(command)}}}};
  return *this;
}

Container& Container::PauseAfterStart(int seconds) {
  json_["lifecycle"]["postStart"] = {{"sleep", {{"seconds", seconds}}}};
  return *this;
}

Json Container::Build() const {
  Json container = json_;
  if (!env_.empty()) {
    container["env"] = env_;
  }
  return container;
}

}  // namespace gantry::gpu_operator
