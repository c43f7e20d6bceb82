// SPDX-License-Identifier: Apache-2.0

// What does a DaemonSet of any operand look like? It has the operand's own parts and the policy's
// common settings. Gantry's operands have one container and no init containers: each init container
// costs the kubelet a second and more, and the processes wait for each other by the files in
// /run/nvidia/validations anyway. Names, labels and annotations are NVIDIA's, because dashboards
// and scripts select by them.

#include "operator/desired/pod.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

// "2" -> 2, "10%" -> "10%", nothing or zero -> 1: both halves of a rolling update must not be zero.
Json Amount(const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto number = ParseInt(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0)));
  if (!number.has_value() || *number <= 0) {
    return 1;
  }
  return percent ? Json(text) : Json(*number);
}

constexpr char kRbacVersion[] = "rbac.authorization.k8s.io/v1";

Json Binding(const Context& context, std::string_view role_kind, std::string_view name,
             std::string_view account) {
  const bool cluster = role_kind == "ClusterRole";
  Json binding = OwnedObject(context, kRbacVersion, cluster ? "ClusterRoleBinding" : "RoleBinding",
                             name, !cluster);
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role_kind}, {"name", name}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", context.ns}}});
  return binding;
}

// The object as rendered for the policy: equal for all releases with the same code, and for all
// charts.
std::string RenderingOf(Json object, const std::string& ours) {
  Json& pod = object["spec"]["template"];
  for (const char* list : {"initContainers", "containers"}) {
    if (pod["spec"].contains(list)) {
      for (Json& container : pod["spec"][list]) {
        if (container["image"] == ours) {
          container["image"] = "";
        }
      }
    }
  }
  for (Json* metadata : {&object["metadata"], &pod["metadata"]}) {
    for (const char* label : {"helm.sh/chart", names::kManagedBy, names::kOperandState}) {
      (*metadata)["labels"].erase(label);
    }
  }
  object["metadata"].erase("ownerReferences");
  // Selecting a driver's nodes by system does not change its pods.
  object["metadata"]["labels"].erase(names::kDriverSystem);
  if (At(pod, "spec.nodeSelector") != nullptr && pod["spec"]["nodeSelector"].is_object()) {
    pod["spec"]["nodeSelector"].erase(names::kDriverSystem);
  }
  return Hash(object);
}

}  // namespace

Json OwnedObject(const Context& context, std::string_view api_version, std::string_view kind,
                 std::string_view name, bool namespaced) {
  Json metadata = {{"name", name}, {"labels", {{names::kManagedBy, names::kManagedByGantry}}}};
  if (!context.state.empty()) {
    metadata["labels"][names::kOperandState] = context.state;
  }
  if (!context.owners.empty()) {
    metadata["ownerReferences"] = context.owners;
  }
  if (namespaced) {
    metadata["namespace"] = context.ns;
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

Json MayBePrivileged() {
  return {{"apiGroups", {names::kSecurityGroup}},
          {"resources", {"securitycontextconstraints"}},
          {"resourceNames", {"privileged"}},
          {"verbs", {"use"}}};
}

void NameWrittenKeys(Json& object) {
  Json& metadata = object["metadata"];
  Json keys = Json::object();
  for (const char* part : {"annotations", "labels"}) {
    if (const Json* texts = At(metadata, part); texts != nullptr) {
      for (const auto& [key, value] : texts->items()) {
        keys[part].push_back(key);
      }
    }
  }
  metadata["annotations"][names::kWrittenKeys] = keys.dump();
}

void LabelApp(std::span<Json> objects, std::string_view app) {
  for (Json& object : objects) {
    object["metadata"]["labels"]["app"] = app;
  }
}

std::string UserEnv(const policy::OperandSpec& spec, std::string_view name) {
  const auto found = std::ranges::find(spec.env, name, &policy::EnvVars::value_type::first);
  return found == spec.env.end() ? "" : found->second;
}

const std::string& AllGpus() {
  static const std::string name = format("{}=all", names::kManagementCdiKind);
  return name;
}

void AddRole(Objects& objects, const Context& context, std::string_view name, Json rules) {
  Json role = OwnedObject(context, kRbacVersion, "Role", name, true);
  role["rules"] = std::move(rules);
  objects.push_back(std::move(role));
  objects.push_back(Binding(context, "Role", name, name));
}

void AddClusterRole(Objects& objects, const Context& context, std::string_view name, Json rules,
                    std::string_view account) {
  Json role = OwnedObject(context, kRbacVersion, "ClusterRole", name, false);
  role["rules"] = std::move(rules);
  objects.push_back(std::move(role));
  objects.push_back(Binding(context, "ClusterRole", name, account.empty() ? name : account));
}

void AddHostRole(Objects& objects, const Context& context, std::string_view name, Json rules) {
  if (context.openshift.constraints) {
    rules.push_back(MayBePrivileged());
  }
  if (!rules.empty()) {
    AddRole(objects, context, name, std::move(rules));
  }
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
  AddPullSecrets(spec.image.pull_secrets);
  if (spec.host_network) {
    pod_["hostNetwork"] = true;
    pod_["dnsPolicy"] = "ClusterFirstWithHostNet";
  }
  pull_policy_ = spec.image.pull_policy;
  Container& main = AddContainer(container, image);
  if (!command.empty()) {
    main.Set("command", Split(command, ' '));
  }
  main.Use(spec);
}

// Pull settings of the operator's image do not apply to another image.
std::string DaemonSet::PullPolicy(const std::string& image, const std::string& asked) const {
  if (asked == "Always" || asked == "Never" || asked == "IfNotPresent") {
    return asked;
  }
  return image == context_.release.image ? context_.release.pull_policy : "IfNotPresent";
}

void DaemonSet::SetPullPolicy(Container& container, const policy::ImageSpec& image) const {
  container.Set("imagePullPolicy", PullPolicy(container.image(), image.pull_policy));
}

void DaemonSet::AddPullSecrets(const std::vector<std::string>& names) {
  pull_secrets_.insert(names.begin(), names.end());
}

Json DaemonSet::PullSecrets() const {
  std::set<std::string> names = pull_secrets_;
  const auto is_ours = [&](const Container& container) {
    return container.image() == context_.release.image;
  };
  if (std::ranges::any_of(init_, is_ours) || std::ranges::any_of(containers_, is_ours)) {
    names.insert(context_.release.pull_secrets.begin(), context_.release.pull_secrets.end());
  }
  Json secrets = Json::array();
  for (const std::string& name : names) {
    secrets.push_back({{"name", name}});
  }
  return secrets;
}

Container& DaemonSet::AddContainer(std::string_view name, const std::string& image) {
  return containers_.emplace_back(name, image, PullPolicy(image, pull_policy_));
}

Container* DaemonSet::Find(std::string_view name) {
  const auto found = std::ranges::find(containers_, name, &Container::name);
  return found == containers_.end() ? nullptr : &*found;
}

Container& DaemonSet::AddInit(std::string_view name, const std::string& image) {
  return init_.emplace_back(name, image, PullPolicy(image, pull_policy_));
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

void DaemonSet::ReadyWhen(std::initializer_list<const char*> command) {
  main().Set("readinessProbe",
             {{"exec", {{"command", Json(command)}}}, {"periodSeconds", 1}, {"timeoutSeconds", 5}});
}

void DaemonSet::UseNvidiaRuntime(std::string_view container, std::string_view devices) {
  const policy::ClusterPolicy& policy = context_.policy;
  if (policy.nri) {
    AnnotatePods(format("nvidia.cdi.k8s.io/container.{}", container), devices);
  } else if (policy.cdi || context_.runtime != "crio") {
    PodField("runtimeClassName", policy.runtime_class);
  }
}

void DaemonSet::AnnotatePods(std::string_view key, std::string_view value) {
  object_["spec"]["template"]["metadata"]["annotations"][std::string(key)] = value;
}

void DaemonSet::Annotate(std::string_view key, std::string_view value) {
  object_["metadata"]["annotations"][std::string(key)] = value;
}

void DaemonSet::LabelOnly(std::string_view key, std::string_view value) {
  object_["metadata"]["labels"][std::string(key)] = value;
  object_["spec"]["template"]["metadata"]["labels"][std::string(key)] = value;
}

void DaemonSet::LabelSet(std::string_view key, std::string_view value) {
  object_["metadata"]["labels"][std::string(key)] = value;
}

void DaemonSet::SelectPodsBy(std::string_view key, std::string_view value) {
  object_["spec"]["selector"]["matchLabels"] = {{key, value}};
  object_["spec"]["template"]["metadata"]["labels"][std::string(key)] = value;
}

void DaemonSet::EnvEverywhere(std::string_view name, std::string_view value) {
  for (auto* containers : {&init_, &containers_}) {
    for (Container& container : *containers) {
      if (!container.HasEnv(name)) {
        container.Env(name, value);
      }
    }
  }
}

void DaemonSet::ShareProcesses() {
  if (!pod_.contains("hostPID")) {
    pod_["shareProcessNamespace"] = true;
  }
}

void DaemonSet::PodField(std::string_view key, Json value) {
  pod_[std::string(key)] = std::move(value);
}

void DaemonSet::SurgeOnUpdate() {
  surge_ = true;
  // No probe shows when it has taken over: one that runs a program would cost more than the
  // operand. minReadySeconds would do, but Kubernetes 1.36 loses the wake-up at its end
  // (StaleControllerConsistencyDaemonSet): there updates stalled on a busy API server.
  main().PauseAfterStart(3);
}

void DaemonSet::Volume(std::string_view name, std::string_view source, Json value) {
  pod_["volumes"].push_back({{"name", name}, {std::string(source), std::move(value)}});
}

void DaemonSet::HostVolume(std::string_view volume, std::string_view path, HostDir create) {
  static constexpr std::array kTypes = {"", "DirectoryOrCreate", "Directory", "FileOrCreate"};
  Volume(volume, "hostPath", {{"path", path}, {"type", kTypes.at(static_cast<size_t>(create))}});
}

void DaemonSet::HostPath(std::string_view volume, std::string_view path, std::string_view mount,
                         HostDir create, bool read_only) {
  HostVolume(volume, path, create);
  main().Mount(volume, mount, {.read_only = read_only});
}

void DaemonSet::SharedHostPath(std::string_view volume, std::string_view path,
                               std::string_view mount) {
  HostVolume(volume, path, HostDir::kCreate);
  main().Mount(volume, mount, kBothWays);
}

void DaemonSet::HostRoot(bool read_only) {
  HostVolume("host-root", context_.policy.host_root, HostDir::kDirectory);
  main().Mount("host-root", "/host",
               {.read_only = read_only, .propagation = Propagation::kFromHost});
}

void DaemonSet::DriverRoot() {
  HostVolume("driver-install-dir", context_.policy.driver_install_dir, HostDir::kCreate);
  main().Mount("driver-install-dir", "/driver-root", kFromHostReadOnly);
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
  // Optional: a missing ConfigMap does not prevent the pod from running, but causes a condition.
  Volume("available-configs", "configMap",
         {{"name", policy.config_name}, {"defaultMode", 420}, {"optional", true}});
  main().Mount("available-configs", "/available-configs", kReadOnly);
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

void DaemonSet::DevicePluginEnabled() {
  Env("DEVICE_PLUGIN_ENABLED", context_.policy.device_plugin.enabled ? "true" : "false");
}

Json DaemonSet::Build() const {
  const policy::ClusterPolicy& policy = context_.policy;
  Json object = object_;
  Json& spec = object["spec"];
  if (policy.update_on_delete || on_delete_) {
    spec["updateStrategy"] = {{"type", "OnDelete"}};
  } else {
    const Json amount = Amount(policy.max_unavailable);
    spec["updateStrategy"] = {
        {"type", "RollingUpdate"},
        {"rollingUpdate",
         {{"maxSurge", surge_ ? amount : Json(0)}, {"maxUnavailable", surge_ ? Json(0) : amount}}}};
  }
  Json& pod = spec["template"]["spec"];
  pod = pod_;
  if (Json secrets = PullSecrets(); !secrets.empty()) {
    pod["imagePullSecrets"] = std::move(secrets);
  }
  for (const Container& container : init_) {
    pod["initContainers"].push_back(container.Build());
  }
  for (const Container& container : containers_) {
    pod["containers"].push_back(container.Build());
  }
  std::string rendering = RenderingOf(object, context_.release.image);
  NameWrittenKeys(object);
  object["metadata"]["annotations"][names::kRendering] = std::move(rendering);
  object["metadata"]["annotations"][names::kLastAppliedHash] = Hash(object);
  return object;
}

}  // namespace gantry::gpu_operator
