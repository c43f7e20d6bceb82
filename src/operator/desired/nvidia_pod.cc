// SPDX-License-Identifier: Apache-2.0

// What do pods of NVIDIA's images need that Gantry's don't? Their programs do not wait, so init
// containers wait for the status files; they find the driver through the container runtime, so the
// pods have its RuntimeClass; and several of them start by a shell script that reads driver-ready.

#include "operator/desired/nvidia_pod.h"

#include "base/paths.h"
#include "base/text.h"
#include "policy/image.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

Json WordsOf(std::vector<std::string> words) {
  Json command = Json::array({"await-status"});
  for (std::string& word : words) {
    command.push_back(std::move(word));
  }
  return command;
}

}  // namespace

bool IsOurs(const std::string& image, const std::string& ours) {
  return policy::ImageName(image) == policy::ImageName(ours);
}

bool RunsOurs(const Context& context, const policy::OperandSpec& spec) {
  const auto image = policy::ChooseImage(spec.image, context.release.image, "");
  return image.has_value() && IsOurs(image->image, context.release.image);
}

Objects NvidiaAccount(const Context& context, std::string_view name, std::vector<Json> rules,
                      std::vector<Json> cluster_rules) {
  Objects objects = {ServiceAccount(context, name)};
  Json all = Json::array({MayBePrivileged()});
  for (Json& rule : rules) {
    all.push_back(std::move(rule));
  }
  AddRole(objects, context, name, std::move(all));
  if (!cluster_rules.empty()) {
    AddClusterRole(objects, context, name, Json(std::move(cluster_rules)));
  }
  return objects;
}

Objects DriverManagerAccount(const Context& context, std::string_view name,
                             std::initializer_list<Json> more_rules) {
  std::vector<Json> rules = {Rule("config.openshift.io", "clusterversions", {"get", "list"}),
                             Rule("", "nodes", {"get", "list", "patch", "watch"}),
                             Rule("", "pods", {"get", "list", "watch"}),
                             Rule("", "pods/eviction", {"create"})};
  rules.insert(rules.end(), more_rules);
  return NvidiaAccount(context, name, {}, std::move(rules));
}

Json NvidiaService(const Context& context, std::string_view name, std::string_view port_name,
                   int port) {
  Json service = OwnedObject(context, "v1", "Service", name, true);
  service["metadata"]["labels"]["app"] = name;
  service["spec"] = {
      {"selector", {{"app", name}}},
      {"ports",
       Json::array(
           {{{"name", port_name}, {"port", port}, {"targetPort", port}, {"protocol", "TCP"}}})}};
  return service;
}

Json ConfigMap(const Context& context, std::string_view name, std::string_view app, Json data) {
  Json map = OwnedObject(context, "v1", "ConfigMap", name, true);
  if (!app.empty()) {
    map["metadata"]["labels"]["app"] = app;
  }
  map["data"] = std::move(data);
  return map;
}

Json TcpProbe(int port, int delay_seconds) {
  return {{"tcpSocket", {{"port", port}}}, {"initialDelaySeconds", delay_seconds}};
}

Json HttpProbe(std::string_view path, int port, int delay_seconds) {
  return {{"httpGet", {{"path", path}, {"port", port}}}, {"initialDelaySeconds", delay_seconds}};
}

void NvidiaDaemonSet::Await(std::string_view name, std::vector<std::string> words) {
  AddInit(name, context().release.image)
      .Set("imagePullPolicy", context().release.pull_policy)
      .Set("command", WordsOf(std::move(words)))
      .Resources(context().policy.validator.resources)
      .Unprivileged()
      .Env(names::kVisibleDevices, "void")
      .Mount("run-nvidia-validations", names::kValidationsDir, kFromHostReadOnly);
  AddPullSecrets(context().policy.validator.image.pull_secrets);
}

void NvidiaDaemonSet::AwaitToolkit() {
  Await("toolkit-validation",
        {context().policy.toolkit.enabled ? names::kToolkitReady : names::kDriverReady});
}

Container& NvidiaDaemonSet::Validate(std::string_view component, const std::string& image,
                                     bool wait) {
  const policy::OperandSpec& validator = context().policy.validator;
  Container& init = AddInit(format("{}-validation", component), image)
                        .Command({"sh", "-c"})
                        .Args({"nvidia-validator"})
                        .Privileged()
                        .AsRoot()
                        .Resources(validator.resources)
                        .Env("COMPONENT", component)
                        .Env("WITH_WAIT", wait ? "true" : "false")
                        .Mount("run-nvidia-validations", names::kValidationsDir, kBothWays);
  SetPullPolicy(init, validator.image);
  AddPullSecrets(validator.image.pull_secrets);
  return init;
}

void NvidiaDaemonSet::ValidateDriver(const std::string& image) {
  const policy::ClusterPolicy& policy = context().policy;
  Container& init = Validate("driver", image, true)
                        .AtLevel0()
                        .EnvFromField(names::kOperatorNamespace, "metadata.namespace");
  std::string here(names::kDriverInstallDir);
  if (policy.driver_install_dir != here) {
    here = policy.driver_install_dir;
    init.Env("DRIVER_INSTALL_DIR", here).Env("DRIVER_INSTALL_DIR_CTR_PATH", here);
  }
  HostVolume("host-dev-char", JoinPath(policy.host_root, "/dev/char"));
  init.Mount("host-root", "/host", kFromHostReadOnly)
      .Mount("driver-install-dir", here, kFromHost)
      .Mount("host-dev-char", "/host-dev-char")
      .Env(policy.validator_driver_env);
}

void NvidiaDaemonSet::StayValidated(const std::string& status_files) {
  const std::string forget = "rm -f " + status_files;
  main().Command({"sh", "-c"});
  if (spec_.args.empty()) {
    main().Args({"echo all validations are successful; while :; do sleep 86400; done"});
  }
  main()
      .Privileged()
      .AsRoot()
      .Mount("run-nvidia-validations", names::kValidationsDir, kBothWays)
      .BeforeStop({"sh", "-c", forget.c_str()});
}

Result<Container*> NvidiaDaemonSet::ManageDriver(const policy::DriverManagerSpec& manager,
                                                 std::string_view section) {
  TRY_ASSIGN(const policy::ImageChoice image,
             policy::ChooseImage(manager.image, context().release.driver_manager, section));
  Container& init = AddInit("k8s-driver-manager", image.image)
                        .Command({"driver-manager"})
                        .Args({"uninstall_driver"})
                        .Privileged()
                        .EnvFromField(names::kNodeName, "spec.nodeName")
                        .Env(names::kVisibleDevices, "void")
                        .Env("ENABLE_GPU_POD_EVICTION", "false")
                        .Env("ENABLE_AUTO_DRAIN", "false")
                        .EnvFromField(names::kOperatorNamespace, "metadata.namespace")
                        .Mount("run-nvidia", "/run/nvidia", kBothWays)
                        .Mount("host-root", "/host", kFromHostReadOnly)
                        .Mount("host-sys", "/sys");
  SetPullPolicy(init, manager.image);
  AddPullSecrets(manager.image.pull_secrets);
  return &init;
}

void NvidiaDaemonSet::RunScript(std::string_view config_map) {
  Volume(config_map, "configMap", {{"name", config_map}, {"defaultMode", 0700}});
  main()
      .Command({"/bin/sh", "-c"})
      .Mount(config_map, "/bin/entrypoint.sh", {.read_only = true, .sub_path = "entrypoint.sh"});
  if (spec_.args.empty()) {
    main().Args({"/bin/entrypoint.sh"});
  }
}

void NvidiaDaemonSet::ManageConfig(std::string_view process) {
  const policy::ClusterPolicy& policy = context().policy;
  if (policy.config_name.empty()) {
    return;
  }
  Volume(policy.config_name, "configMap", {{"name", policy.config_name}});
  Volume("config", "emptyDir", Json::object());
  ShareProcesses();
  const auto plugin = policy::ChooseImage(policy.device_plugin.image, context().release.image, "");
  const bool theirs = plugin.has_value() && !IsOurs(plugin->image, context().release.image);
  const std::string image = theirs ? plugin->image : main().image();
  const auto use = [&](Container& container, bool once) {
    if (theirs) {
      SetPullPolicy(container, policy.device_plugin.image);
    }
    container.Command({"config-manager"})
        .Resources(spec_.resources)
        .Env("ONESHOT", once ? "true" : "false")
        .Env("KUBECONFIG", "")
        .EnvFromField(names::kNodeName, "spec.nodeName")
        .Env("NODE_LABEL", names::kDevicePluginConfig)
        .Env("CONFIG_FILE_SRCDIR", "/available-configs")
        .Env("CONFIG_FILE_DST", "/config/config.yaml")
        .Env("DEFAULT_CONFIG", policy.config_default)
        .Env("FALLBACK_STRATEGIES", "empty")
        .Env("SEND_SIGNAL", once ? "false" : "true")
        .Env("SIGNAL", once ? "" : "1")
        .Env("PROCESS_TO_SIGNAL", once ? "" : process)
        .Mount("config", "/config")
        .Mount(policy.config_name, "/available-configs");
  };
  if (theirs) {
    AddPullSecrets(policy.device_plugin.image.pull_secrets);
  }
  use(AddInit("config-manager-init", image), true);
  use(AddContainer("config-manager", image).Privileged(), false);
  main()
      .Env("CONFIG_FILE", "/config/config.yaml")
      .Mount("config", "/config")
      .Mount(policy.config_name, "/available-configs");
}

Json NvidiaDaemonSet::Finish() {
  if (const std::string& root = context().policy.host_root; root != "/") {
    EnvEverywhere("HOST_ROOT", root);
  }
  main().Env(spec_.env);
  return Build();
}

}  // namespace gantry::gpu_operator
