// SPDX-License-Identifier: Apache-2.0

// What does a DaemonSet of any operand look like? From what the operand adds and what the policy
// says for all. One container and no init containers: each init container costs the kubelet a
// second and more, and the processes wait for each other through the files in
// /run/nvidia/validations anyway. Names, labels and annotations are NVIDIA's, because dashboards
// and scripts select by them.

#include "operator/desired/pod.h"

#include <algorithm>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// "2" -> 2, "10%" -> "10%", nothing or zero -> 1: both halves of a rolling update must not be zero.
Json Amount(const std::string& text) {
  if (text.ends_with('%')) {
    return text == "0%" ? Json(1) : Json(text);
  }
  const auto number = ParseInt(text);
  return number.has_value() && *number > 0 ? *number : 1;
}

// FNV-1a, 32 bits, in decimal, as NVIDIA's annotation holds it (over another text).
std::string Hash(const Json& object) {
  uint32_t hash = 2166136261U;
  for (const char c : object.dump()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return std::to_string(hash);
}

constexpr char kRbacVersion[] = "rbac.authorization.k8s.io/v1";

Json Binding(const Context& context, std::string_view role_kind, std::string_view name) {
  const bool cluster = role_kind == "ClusterRole";
  Json binding = OwnedObject(context, kRbacVersion, cluster ? "ClusterRoleBinding" : "RoleBinding",
                             name, !cluster);
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role_kind}, {"name", name}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", context.space}}});
  return binding;
}

}  // namespace

Json OwnedObject(const Context& context, std::string_view api_version, std::string_view kind,
                 std::string_view name, bool namespaced) {
  Json metadata = {{"name", name}, {"labels", {{names::kManagedBy, names::kManagedByGantry}}}};
  if (!context.owner.is_null()) {
    metadata["ownerReferences"] = Json::array({context.owner});
  }
  if (namespaced) {
    metadata["namespace"] = context.space;
  }
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

Json ServiceAccount(const Context& context, std::string_view name) {
  return OwnedObject(context, "v1", "ServiceAccount", name, true);
}

Json Rule(std::string_view group, std::string_view resource,
          std::initializer_list<const char*> verbs) {
  return {{"apiGroups", {group}}, {"resources", {resource}}, {"verbs", Json(verbs)}};
}

void AddRole(Objects& objects, const Context& context, std::string_view name, Json rules) {
  Json role = OwnedObject(context, kRbacVersion, "Role", name, true);
  role["rules"] = std::move(rules);
  objects.push_back(std::move(role));
  objects.push_back(Binding(context, "Role", name));
}

void AddClusterRole(Objects& objects, const Context& context, std::string_view name, Json rules) {
  Json role = OwnedObject(context, kRbacVersion, "ClusterRole", name, false);
  role["rules"] = std::move(rules);
  objects.push_back(std::move(role));
  objects.push_back(Binding(context, "ClusterRole", name));
}

DaemonSet::DaemonSet(const Context& context, std::string_view name, std::string_view container,
                     std::string_view command, const std::string& image,
                     const policy::OperandSpec& spec)
    : context_(context), object_(OwnedObject(context, "apps/v1", "DaemonSet", name, true)) {
  const policy::ClusterPolicy& policy = context.policy;
  Json& metadata = object_["metadata"];
  for (const auto& [key, value] : policy.pod_labels) {
    if (key != names::kManagedBy) {
      metadata["labels"][key] = value;
    }
  }
  for (const auto& [key, value] : policy.pod_annotations) {
    metadata["annotations"][key] = value;
  }
  Json& pod = object_["spec"]["template"]["metadata"];
  for (const auto& [key, value] : policy.pod_labels) {
    if (key != "app" && key != "app.kubernetes.io/part-of") {
      pod["labels"][key] = value;
    }
  }
  for (const auto& [key, value] : policy.pod_annotations) {
    pod["annotations"][key] = value;
  }
  Label("app", name);
  pod_["priorityClassName"] = policy.priority_class;
  pod_["tolerations"] = policy.tolerations;
  if (!policy.pod_security_context.is_null()) {
    pod_["securityContext"] = policy.pod_security_context;
  }
  if (!spec.image.pull_secrets.empty()) {
    std::vector<std::string> secrets = spec.image.pull_secrets;
    std::ranges::sort(secrets);
    const auto repeated = std::ranges::unique(secrets);
    secrets.erase(repeated.begin(), repeated.end());
    for (const std::string& secret : secrets) {
      pod_["imagePullSecrets"].push_back({{"name", secret}});
    }
  }
  if (spec.host_network) {
    pod_["hostNetwork"] = true;
    pod_["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  const std::string& pull = spec.image.pull_policy;
  const bool known = pull == "Always" || pull == "Never" || pull == "IfNotPresent";
  container_ = {{"name", container},
                {"image", image},
                {"imagePullPolicy", known ? pull : context.pull_policy},
                {"command", Split(command, ' ')}};
  if (!spec.args.empty()) {
    container_["args"] = spec.args;
  }
  if (!spec.resources.is_null()) {
    container_["resources"] = spec.resources;
  }
}

void DaemonSet::SelectDeployed(std::string_view suffix) {
  SelectNodes({{std::string(names::kDeployPrefix).append(suffix), "true"}});
}

void DaemonSet::SelectNodesWithLabel(std::string_view label) {
  Json term = {{"matchExpressions", Json::array({{{"key", label}, {"operator", "Exists"}}})}};
  pod_["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", Json::array({std::move(term)})}};
}

void DaemonSet::SelectNodes(Json selector) { pod_["nodeSelector"] = std::move(selector); }

void DaemonSet::Label(std::string_view key, std::string_view value) {
  object_["metadata"]["labels"][std::string(key)] = value;
  object_["spec"]["selector"]["matchLabels"][std::string(key)] = value;
  object_["spec"]["template"]["metadata"]["labels"][std::string(key)] = value;
}

void DaemonSet::UseServiceAccount(std::string_view name, bool token) {
  pod_["serviceAccountName"] = name;
  pod_["automountServiceAccountToken"] = token;
}

void DaemonSet::TolerateEverything() {
  pod_["tolerations"] = Json::array({{{"operator", "Exists"}}});
}

void DaemonSet::Privileged() { container_["securityContext"] = {{"privileged", true}}; }

void DaemonSet::Unprivileged() {
  container_["securityContext"] = {{"allowPrivilegeEscalation", false},
                                   {"readOnlyRootFilesystem", true},
                                   {"runAsNonRoot", true},
                                   {"runAsUser", 65534},
                                   {"runAsGroup", 65534},
                                   {"capabilities", {{"drop", {"ALL"}}}},
                                   {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

void DaemonSet::ReadyWhen(std::initializer_list<const char*> command) {
  container_["readinessProbe"] = {
      {"exec", {{"command", Json(command)}}}, {"periodSeconds", 1}, {"timeoutSeconds", 5}};
}

void DaemonSet::HostPid() { pod_["hostPID"] = true; }

void DaemonSet::Port(std::string_view name, int number) {
  container_["ports"] =
      Json::array({{{"name", name}, {"containerPort", number}, {"protocol", "TCP"}}});
}

void DaemonSet::SurgeOnUpdate() {
  surge_ = true;
  // A pod counts as available that long after it runs. No probe tells when it has taken over: one
  // that runs a program would cost more than the operand.
  object_["spec"]["minReadySeconds"] = 3;
}

void DaemonSet::Env(std::string_view name, std::string_view value) {
  Json entry = {{"name", name}, {"value", value}};
  const auto found = std::ranges::find_if(env_, [&](const Json& e) { return e["name"] == name; });
  if (found == env_.end()) {
    env_.push_back(std::move(entry));
  } else {
    *found = std::move(entry);
  }
}

void DaemonSet::EnvFromField(std::string_view name, std::string_view field_path) {
  env_.push_back(
      {{"name", name},
       {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", field_path}}}}}});
}

void DaemonSet::Env(const policy::EnvVars& variables) {
  for (const auto& [name, value] : variables) {
    Env(name, value);
  }
}

void DaemonSet::HostPath(std::string_view volume, std::string_view path, std::string_view mount,
                         HostDir create, bool read_only) {
  pod_["volumes"].push_back(
      {{"name", volume},
       {"hostPath",
        {{"path", path}, {"type", create == HostDir::kCreate ? "DirectoryOrCreate" : ""}}}});
  Mount(volume, mount, read_only, false);
}

void DaemonSet::SharedHostPath(std::string_view volume, std::string_view path,
                               std::string_view mount) {
  HostPath(volume, path, mount, HostDir::kCreate, false);
  container_["volumeMounts"].back()["mountPropagation"] = "Bidirectional";
}

void DaemonSet::HostRoot(bool read_only) {
  const std::string& root = context_.policy.host_root;
  pod_["volumes"].push_back({{"name", "host-root"}, {"hostPath", {{"path", root}, {"type", ""}}}});
  Mount("host-root", "/host", read_only, true);
}

void DaemonSet::DriverRoot() {
  pod_["volumes"].push_back(
      {{"name", "driver-install-dir"},
       {"hostPath",
        {{"path", context_.policy.driver_install_dir}, {"type", "DirectoryOrCreate"}}}});
  Mount("driver-install-dir", "/driver-root", true, true);
}

void DaemonSet::WritesValidations() {
  HostPath("run-nvidia-validations", names::kValidationsDir, names::kValidationsDir,
           HostDir::kCreate, false);
}

void DaemonSet::ReadsValidations() {
  HostPath("run-nvidia-validations", names::kValidationsDir, names::kValidationsDir,
           HostDir::kCreate, true);
}

void DaemonSet::PluginConfig() {
  const policy::ClusterPolicy& policy = context_.policy;
  if (policy.config_name.empty()) {
    return;
  }
  // Optional: a ConfigMap that is missing keeps no pod from running, it gives a condition.
  pod_["volumes"].push_back(
      {{"name", "available-configs"},
       {"configMap", {{"name", policy.config_name}, {"defaultMode", 420}, {"optional", true}}}});
  Mount("available-configs", "/available-configs", true, false);
  Env("CONFIG_FILE_SRCDIR", "/available-configs");
  Env("DEFAULT_CONFIG", policy.config_default);
  Env("NODE_LABEL", names::kDevicePluginConfig);
  Env("FALLBACK_STRATEGIES", "empty");
}

void DaemonSet::MigStrategy() {
  const std::string& strategy = context_.policy.mig_strategy;
  if (!strategy.empty()) {
    Env("MIG_STRATEGY", strategy);
  }
  if (strategy != "none") {
    Env("NVIDIA_MIG_MONITOR_DEVICES", "all");
  }
}

void DaemonSet::Mount(std::string_view volume, std::string_view mount, bool read_only,
                      bool propagate) {
  Json entry = {{"name", volume}, {"mountPath", mount}};
  if (read_only) {
    entry["readOnly"] = true;
  }
  if (propagate) {
    entry["mountPropagation"] = "HostToContainer";
  }
  container_["volumeMounts"].push_back(std::move(entry));
}

Json DaemonSet::Build() const {
  const policy::ClusterPolicy& policy = context_.policy;
  Json object = object_;
  Json& spec = object["spec"];
  if (policy.update_on_delete) {
    spec["updateStrategy"] = {{"type", "OnDelete"}};
  } else {
    const Json amount = Amount(policy.max_unavailable);
    spec["updateStrategy"] = {
        {"type", "RollingUpdate"},
        {"rollingUpdate",
         {{"maxSurge", surge_ ? amount : Json(0)}, {"maxUnavailable", surge_ ? Json(0) : amount}}}};
  }
  Json container = container_;
  if (!env_.empty()) {
    container["env"] = env_;
  }
  spec["template"]["spec"] = pod_;
  spec["template"]["spec"]["containers"] = Json::array({std::move(container)});
  object["metadata"]["annotations"][names::kLastAppliedHash] = Hash(object);
  return object;
}

}  // namespace gantry::gpu_operator
