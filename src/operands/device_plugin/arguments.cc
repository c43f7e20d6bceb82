// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? Flags, aliases and variables are NVIDIA's
// (k8s-device-plugin v0.20, cmd/nvidia-device-plugin and cmd/config-manager); those of the config
// manager are read here because this process chooses its configuration itself.
#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "base/command_line.h"
#include "base/text.h"
#include "container/cdi.h"
#include "operands/device_plugin/settings.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

// A flag that may be `--flag`, `--flag=true` or `--flag false`, and is read as Go reads a bool.
void AddBool(CLI::App& app, const std::string& flags, std::optional<bool>& into,
             const std::string& variable, const std::string& help) {
  app.add_option_function<std::string>(
         flags,
         [&into, flags](const std::string& text) {
           const auto value = ParseBool(text.empty() ? "true" : text);
           if (!value) {
             throw CLI::ValidationError(flags, value.error().message);
           }
           into = *value;
         },
         help)
      ->envname(variable)
      ->expected(0, 1);
}

template <typename T>
void AddList(CLI::App& app, const std::string& flags, T& into, const std::string& variable,
             const std::string& help) {
  AsList(app.add_option(flags, into, help)->envname(variable));
}

// CLI11 knows one variable an option; the second name of some is looked up here.
std::string Variable(const char* preferred, const char* alias) {
  return std::getenv(preferred) == nullptr && std::getenv(alias) != nullptr ? alias : preferred;
}

void AddFileFlags(CLI::App& app, Arguments& to) {
  app.add_option("--mig-strategy", to.mig_strategy, "none, single or mixed")
      ->envname("MIG_STRATEGY");
  AddBool(app, "--fail-on-init-error", to.fail_on_init_error, "FAIL_ON_INIT_ERROR",
          "end with an error when the driver can't be used; otherwise wait");
  app.add_option("--driver-root,--nvidia-driver-root", to.driver_root,
                 "root of the driver on the host")
      ->envname("NVIDIA_DRIVER_ROOT");
  app.add_option("--dev-root,--nvidia-dev-root", to.dev_root,
                 "folder on the host that holds dev/ (default: the driver root)")
      ->envname("NVIDIA_DEV_ROOT");
  AddBool(app, "--pass-device-specs", to.pass_device_specs, "PASS_DEVICE_SPECS",
          "name device nodes to the kubelet");
  AddList(app, "--device-list-strategy", to.device_list_strategy, "DEVICE_LIST_STRATEGY",
          "envvar, volume-mounts, cdi-annotations, cdi-cri");
  app.add_option("--device-id-strategy", to.device_id_strategy, "uuid or index")
      ->envname("DEVICE_ID_STRATEGY");
  AddBool(app, "--gdrcopy-enabled", to.gdrcopy_enabled, "GDRCOPY_ENABLED",
          "give containers /dev/gdrdrv");
  AddBool(app, "--gds-enabled", to.gds_enabled, "GDS_ENABLED",
          "give containers what GPUDirect Storage needs");
  AddBool(app, "--mofed-enabled", to.mofed_enabled, "MOFED_ENABLED",
          "give containers the InfiniBand devices");
  app.add_option("--cdi-annotation-prefix", to.cdi_annotation_prefix, "")
      ->envname("CDI_ANNOTATION_PREFIX");
  app.add_option("--nvidia-cdi-hook-path,--nvidia-ctk-path", to.cdi_hook_path,
                 "path on the host of the program that CDI documents name")
      ->envname(Variable("NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"));
  app.add_option("--driver-root-ctr-path,--container-driver-root", to.driver_root_ctr_path,
                 "where the driver root is mounted here")
      ->envname(Variable("DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"));
  app.add_option("--mps-root", to.mps_root, "folder on the host that the MPS control daemon uses")
      ->envname("MPS_ROOT");
  app.add_option("--shared-devices-allocation-policy", to.shared_devices_allocation_policy,
                 "distributed or packed")
      ->envname("SHARED_DEVICES_ALLOCATION_POLICY");
  app.add_option("--device-discovery-strategy", to.device_discovery_strategy, "auto, nvml or tegra")
      ->envname("DEVICE_DISCOVERY_STRATEGY");
  AddList(app, "--imex-channel-ids", to.imex_channel_ids, "IMEX_CHANNEL_IDS",
          "IMEX channels that every container gets: none, or 0");
  AddBool(app, "--imex-required", to.imex_required, "IMEX_REQUIRED",
          "a missing IMEX channel is an error");
}

void AddOwnFlags(CLI::App& app, Arguments& to) {
  app.add_option("--kubelet-socket", to.kubelet_socket, "empty: serve without registering")
      ->envname("KUBELET_SOCKET");
  app.add_option("--kubelet-root", to.kubelet_root, "the kubelet's --root-dir, on the host")
      ->envname("KUBELET_ROOT");
  app.add_option("--kubelet-host-root", to.kubelet_host_root,
                 "where the host's root is mounted here, to look for the kubelet's socket in "
                 "Kubernetes' folder and below its root")
      ->envname("KUBELET_HOST_ROOT");
  app.add_option("--config-file", to.config_file, "")->envname("CONFIG_FILE");
  AddList(app, "--cdi-disable-hooks", to.cdi_disable_hooks, "CDI_DISABLE_HOOKS", "");
  AddList(app, "--cdi-feature-flags", to.cdi_feature_flags, "CDI_FEATURE_FLAGS", "");
  app.add_option("--config-file-srcdir", to.config_dir, "a folder of configurations to choose from")
      ->envname("CONFIG_FILE_SRCDIR");
  app.add_option("--default-config", to.default_config, "")->envname("DEFAULT_CONFIG");
  app.add_option("--node-name", to.node_name, "")->envname(names::kNodeName);
  app.add_option("--node-label", to.node_label, "label of the node that names the configuration")
      ->envname("NODE_LABEL")
      ->default_val(names::kDevicePluginConfig);
  AddList(app, "--fallback-strategies", to.fallback_strategies, "FALLBACK_STRATEGIES",
          "named, single, empty");
  AddList(app, "--wait-for-validations", to.wait_for, "WAIT_FOR_VALIDATIONS",
          "status files to wait for");
  app.add_option("--status-dir", to.status_dir, "")->default_val(names::kValidationsDir);
  app.add_option("--cdi-dir", to.cdi_dir, "")->default_val(names::kCdiDir);
  app.add_option("--cuda-cdi-device", to.cuda_cdi_device,
                 "CDI device of a CUDA toolkit that comes with every GPU")
      ->envname("CUDA_CDI_DEVICE")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return container::ParseCdiName(name) ? std::string()
                                                 : "is not <vendor>/<class>=<device>: " + name;
          },
          "NAME"));
  app.add_option("--host-root", to.host_root, "where the host's root is mounted here")
      ->envname("HOST_ROOT")
      ->default_val("/host");
  // Health checks have variables only.
  app.add_option("--disable-health-checks", to.disable_health_checks, "")
      ->envname("DP_DISABLE_HEALTHCHECKS");
  app.add_option("--enable-health-checks", to.enable_health_checks, "")
      ->envname("DP_ENABLE_HEALTHCHECKS");
}

// Of NVIDIA's config manager, a process beside the plugin that links the chosen file into place and
// signals the plugin. The plugin chooses by itself and needs no signal, so a manifest that says how
// to send it is checked, and says nothing more.
void AddConfigManagerFlags(CLI::App& app, Arguments& to) {
  app.add_option("--kubeconfig", to.kubeconfig, "empty: the pod's service account")
      ->envname("KUBECONFIG");
  const auto is_bool = [](const std::string& text) {
    const auto value = ParseBool(text);
    return value ? std::string() : value.error().message;
  };
  for (const auto& [flag, variable] :
       {std::pair{"--oneshot", "ONESHOT"}, {"--send-signal", "SEND_SIGNAL"}}) {
    app.add_option_function<std::string>(
           flag, [](const std::string&) {}, "accepted: no other process is to be told")
        ->check(CLI::Validator(is_bool, "BOOL"))
        ->envname(variable)
        ->expected(0, 1)
        ->default_str("true");
  }
  app.add_option_function<int>("--signal", [](int) {}, "accepted, the same")->envname("SIGNAL");
  app.add_option_function<std::string>(
         "--process-to-signal", [](const std::string&) {}, "accepted, the same")
      ->envname("PROCESS_TO_SIGNAL");
  app.add_option_function<std::string>(
         "--config-file-dst", [](const std::string&) {},
         "accepted: the chosen file is read where it is")
      ->envname("CONFIG_FILE_DST");
}

}  // namespace

Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv) {
  CLI::App app("Offers the GPUs of this node to its kubelet.", "nvidia-device-plugin");
  app.set_version_flag("--version", GANTRY_VERSION);
  Arguments arguments;
  AddFileFlags(app, arguments);
  AddOwnFlags(app, arguments);
  AddConfigManagerFlags(app, arguments);
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cerr);
    return std::optional<Arguments>();
  } catch (const CLI::Error& error) {
    return Fail(ErrorKind::kInvalid, format("read the command line: {}", error.what()));
  }
  return arguments;
}

}  // namespace gantry::device_plugin
