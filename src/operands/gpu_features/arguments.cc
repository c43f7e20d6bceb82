// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? Flags, aliases and variables are those of
// NVIDIA's gpu-feature-discovery (k8s-device-plugin v0.20); those that choose among several
// configurations are its config manager's, whose work this process does itself.
#include <CLI/CLI.hpp>
#include <iostream>

#include "base/command_line.h"
#include "base/text.h"
#include "operands/gpu_features/settings.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

// The first of the variables that is set; CLI11 knows one variable an option.
std::string Variable(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (std::getenv(variable) != nullptr) {
      return variable;
    }
  }
  return *variables.begin();
}

// A flag that may be `--flag`, `--flag=true` or `--flag false`, and is read as Go reads a bool.
void AddBool(CLI::App& app, const std::string& flag, std::optional<bool>& into,
             std::initializer_list<const char*> variables, const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&into, flag](const std::string& text) {
           const Result<bool> value = ParseBool(text.empty() ? "true" : text);
           if (!value.has_value()) {
             throw CLI::ValidationError(flag, value.error().message);
           }
           into = *value;
         },
         help)
      ->envname(Variable(variables))
      ->expected(0, 1);
}

void AddLabelFlags(CLI::App& app, Arguments& to) {
  app.add_option("--mig-strategy", to.mig_strategy, "none, single or mixed")
      ->envname(Variable({"GFD_MIG_STRATEGY", "MIG_STRATEGY"}));
  AddBool(app, "--fail-on-init-error", to.fail_on_init_error,
          {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"},
          "with --oneshot: a missing driver is an error; without, it is waited for either way");
  AddBool(app, "--oneshot", to.oneshot, {"GFD_ONESHOT"}, "label once and end");
  AddBool(app, "--no-timestamp", to.no_timestamp, {"GFD_NO_TIMESTAMP"}, "no timestamp label");
  app.add_option("--sleep-interval", to.sleep_interval,
                 "ask the driver anew after this long (60s); 0 or infinite: only on events")
      ->envname("GFD_SLEEP_INTERVAL");
  app.add_option("--output-file,--output,-o", to.output_file, "empty: standard output")
      ->envname("GFD_OUTPUT_FILE");
  app.add_option("--machine-type-file", to.machine_type_file, "")->envname("GFD_MACHINE_TYPE_FILE");
  AddBool(app, "--use-node-feature-api", to.use_node_feature_api,
          {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"},
          "publish a NodeFeature object instead of a file");
  app.add_option("--device-discovery-strategy", to.device_discovery_strategy, "auto, nvml or vfio")
      ->envname("DEVICE_DISCOVERY_STRATEGY");
  app.add_option(
         "--driver-root-ctr-path,--container-driver-root", to.driver_root_ctr_path,
         "where the driver root is mounted here (default: as the driver's status file says)")
      ->envname(Variable({"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"}));
}

void AddPlaceFlags(CLI::App& app, Arguments& to) {
  app.add_option("--kubeconfig", to.kubeconfig, "")->envname("KUBECONFIG");
  app.add_option("--namespace", to.space, "of the NodeFeature object")->envname("NAMESPACE");
  app.add_option("--node-name", to.node_name, "")->envname(names::kNodeName);
  app.add_option("--config-file", to.config_file, "configuration of the device plugin")
      ->envname(Variable({"GFD_CONFIG_FILE", "CONFIG_FILE"}));
  app.add_option("--config-file-srcdir", to.config_dir, "a folder of configurations to choose from")
      ->envname("CONFIG_FILE_SRCDIR");
  app.add_option("--default-config", to.default_config, "")->envname("DEFAULT_CONFIG");
  app.add_option("--node-label", to.node_label, "label of the node that names the configuration")
      ->envname("NODE_LABEL")
      ->default_val(names::kDevicePluginConfig);
  AsList(app.add_option("--fallback-strategies", to.fallback_strategies, "named, single, empty")
             ->envname("FALLBACK_STRATEGIES"));
  AsList(app.add_option("--wait-for-validations", to.wait_for, "status files to wait for")
             ->envname("WAIT_FOR_VALIDATIONS"));
  app.add_option("--status-dir", to.status_dir, "")->default_val(names::kValidationsDir);
  app.add_option("--sys-root", to.sys_root, "where the host's sysfs is mounted here")
      ->envname("SYS_ROOT")
      ->default_val("/sys");
  app.add_option("--host-root", to.host_root, "where the host's files are mounted here")
      ->envname("HOST_ROOT")
      ->default_val("/host");
}

// Flags of upstream's that mean nothing here: no client is throttled, no object is owned by a pod.
void AddUnused(CLI::App& app) {
  for (const auto& [flag, variable] : std::initializer_list<std::pair<const char*, const char*>>{
           {"--kube-api-qps", "KUBE_API_QPS"},
           {"--kube-api-burst", "KUBE_API_BURST"},
           {"--pod-name", "POD_NAME"}}) {
    app.add_option_function<std::string>(
           flag, [](const std::string&) {}, "accepted, unused")
        ->envname(variable);
  }
}

}  // namespace

Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv) {
  CLI::App app("Describes the GPUs of this node in labels.", "gpu-feature-discovery");
  app.set_version_flag("--version", GANTRY_VERSION);
  Arguments arguments;
  AddLabelFlags(app, arguments);
  AddPlaceFlags(app, arguments);
  AddUnused(app);
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error, std::cout, std::cerr);
      return std::nullopt;
    }
    return Fail(ErrorKind::kInvalid, error.what());
  }
  return arguments;
}

}  // namespace gantry::gpu_features
