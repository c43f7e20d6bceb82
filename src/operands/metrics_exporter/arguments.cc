// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? What dcgm-exporter knows is accepted; what only
// means something to DCGM is named once in the log, what is missing here ends the program.
#include "operands/metrics_exporter/arguments.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <utility>

#include "base/command_line.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::metrics_exporter {
namespace {

// A flag that may be `--flag`, `--flag=true` or `--flag=false`, and is read as Go reads a bool.
void AddBool(CLI::App& app, const std::string& flags, bool& into, const std::string& variable,
             const std::string& help) {
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

void AddMilliseconds(CLI::App& app, const std::string& flags, std::chrono::milliseconds& into,
                     const std::string& variable, const std::string& help) {
  app.add_option_function<long long>(
         flags, [&into](long long count) { into = std::chrono::milliseconds(count); }, help)
      ->envname(variable)
      ->check(CLI::Range(1LL, 86'400'000LL));
}

struct Unused {
  const char* flags;
  const char* variable;
  bool is_switch = false;
};

// What has no meaning without DCGM, or with metrics that are read while nobody asks.
constexpr auto kNoEffect = std::to_array<Unused>({
    {"--cpu-devices,-p", "DCGM_EXPORTER_CPU_DEVICES_STR"},
    {"--switch-devices,-s", "DCGM_EXPORTER_OTHER_DEVICES_STR"},
    {"--remote-hostengine-info,-r", "DCGM_REMOTE_HOSTENGINE_INFO"},
    {"--kubernetes-gpu-id-type", "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE"},
    {"--dcgm-log-level", "DCGM_EXPORTER_DCGM_LOG_LEVEL"},
    {"--log-format", "DCGM_EXPORTER_LOG_FORMAT"},
    {"--gpu-bind-unbind-poll-interval", "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL"},
    {"--web-read-timeout", "DCGM_EXPORTER_WEB_READ_TIMEOUT"},
    {"--web-write-timeout", "DCGM_EXPORTER_WEB_WRITE_TIMEOUT"},
    {"--dump-directory", "DCGM_EXPORTER_DUMP_DIRECTORY"},
    {"--dump-retention", "DCGM_EXPORTER_DUMP_RETENTION"},
    {"--enable-dcgm-log", "DCGM_EXPORTER_ENABLE_DCGM_LOG", true},
    {"--fake-gpus", "DCGM_EXPORTER_USE_FAKE_GPUS", true},
    {"--disable-startup-validate", "DISABLE_STARTUP_VALIDATE", true},
    {"--enable-gpu-bind-unbind-watch", "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH", true},
    {"--enable-pprof", "DCGM_EXPORTER_ENABLE_PPROF", true},
    {"--dump-enabled", "DCGM_EXPORTER_DUMP_ENABLED", true},
    {"--dump-compression", "DCGM_EXPORTER_DUMP_COMPRESSION", true},
});

// What asks for metrics that are not there yet.
constexpr auto kNotYet = std::to_array<Unused>({
    {"--devices,-d", "DCGM_EXPORTER_DEVICES_STR"},
    {"--kubernetes-pod-label-allowlist-regex",
     "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"},
    {"--hpc-job-mapping-dir", "DCGM_HPC_JOB_MAPPING_DIR"},
    {"--config-file", "DCGM_EXPORTER_CONFIG_FILE"},
    {"--container-labels", "DCGM_EXPORTER_CONTAINER_LABELS"},
    {"--container-runtime-socket", "DCGM_CONTAINER_RUNTIME_SOCKET"},
    {"--kubernetes-enable-pod-labels", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", true},
    {"--kubernetes-enable-pod-uid", "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", true},
    {"--kubernetes-enable-dra", "KUBERNETES_ENABLE_DRA", true},
});

// Values that ask for what happens anyway.
bool AsksForNothing(const std::string& value) {
  return value.empty() || value == "f" || value == "false" || value == "0";
}

void AddUnused(CLI::App& app, std::span<const Unused> all, std::vector<std::string>& given) {
  for (const Unused& one : all) {
    const std::string name = Split(one.flags, ',').front();
    auto* option = app.add_option_function<std::string>(
                          one.flags,
                          [&given, name](const std::string& value) {
                            if (!AsksForNothing(value)) {
                              given.push_back(name);
                            }
                          },
                          "accepted")
                       ->envname(one.variable);
    if (one.is_switch) {
      option->expected(0, 1)->default_str("true");
    }
  }
}

void AddServing(CLI::App& app, Arguments& to) {
  app.add_option("--collectors,-f", to.collectors, "file of counters")
      ->envname("DCGM_EXPORTER_COLLECTORS");
  app.add_option("--configmap-data,-m", to.config_map,
                 "namespace:name of a ConfigMap with counters under the key metrics, in the place "
                 "of the file")
      ->envname("DCGM_EXPORTER_CONFIGMAP_DATA");
  app.add_option("--address,-a", to.address, "where to listen")->envname("DCGM_EXPORTER_LISTEN");
  AddMilliseconds(app, "--collect-interval,-c", to.interval, "DCGM_EXPORTER_INTERVAL",
                  "milliseconds between two looks at the GPUs");
  AddMilliseconds(app, "--xid-count-window-size,-x", to.windows.xids,
                  "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", "milliseconds");
  AddMilliseconds(app, "--clock-events-count-window-size", to.windows.clocks,
                  "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", "milliseconds");
  AddBool(app, "--enable-exporter-metrics", to.process_metrics,
          "DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", "metrics of the exporter's process too");
  AddBool(app, "--debug", to.debug, "DCGM_EXPORTER_DEBUG", "more log lines");
}

void AddLabelling(CLI::App& app, Arguments& to, bool& no_host, std::string& host_label,
                  std::string& number_format) {
  AddBool(app, "--use-old-namespace,-o", to.labelling.old_names, "DCGM_EXPORTER_USE_OLD_NAMESPACE",
          "names of labels as in 1.x");
  AddBool(app, "--no-hostname,-n", no_host, "DCGM_EXPORTER_NO_HOSTNAME", "no host label");
  app.add_option("--hostname-label", host_label,
                 "Hostname (as up to 4.5.3), hostname (as since then) or both")
      ->envname("DCGM_EXPORTER_HOSTNAME_LABEL")
      ->check(CLI::IsMember({"Hostname", "hostname", "both"}));
  app.add_option("--number-format", number_format, "shortest (as since 4.8.3) or fixed (as before)")
      ->envname("DCGM_EXPORTER_NUMBER_FORMAT")
      ->check(CLI::IsMember({"shortest", "fixed"}));
  AddBool(app, "--replace-blanks-in-model-name,--rbmn", to.labelling.replace_blanks,
          "DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME", "");
  app.add_option("--node-name", to.labelling.node, "the host label's value")
      ->envname(names::kNodeName);
}

void AddKubernetes(CLI::App& app, Arguments& to, std::vector<std::string>& resources) {
  AddBool(app, "--kubernetes,-k", to.kubernetes, "DCGM_EXPORTER_KUBERNETES",
          "labels of the pods that hold GPUs");
  app.add_option("--pod-resources-kubelet-socket", to.pod_resources, "")
      ->envname("DCGM_POD_RESOURCES_KUBELET_SOCKET");
  AsList(app.add_option("--nvidia-resource-names", resources, "further resources that are GPUs")
             ->envname("NVIDIA_RESOURCE_NAMES"));
  AddBool(app, "--kubernetes-virtual-gpus", to.labelling.every_holder, "KUBERNETES_VIRTUAL_GPUS",
          "series for each pod of a shared GPU");
  app.add_option("--kubeconfig", to.kubeconfig, "empty: the pod's service account")
      ->envname("KUBECONFIG");
}

void AddOwn(CLI::App& app, Arguments& to) {
  AsList(app.add_option("--wait-for-validations", to.wait_for, "status files to wait for")
             ->envname("WAIT_FOR_VALIDATIONS"));
  app.add_option("--status-dir", to.status_dir, "")->default_val(names::kValidationsDir);
  app.add_option("--host-root", to.host_root, "where the host's root is mounted here")
      ->envname("HOST_ROOT")
      ->default_val("/host");
  app.add_flag("--list-fields", to.list_fields, "print the names of all metrics, and end");
  app.add_option("--driver-root-ctr-path", to.driver_root, "where the driver root is mounted here")
      ->envname("DRIVER_ROOT_CTR_PATH");
}

HostLabel HostLabelOf(bool none, const std::string& name) {
  if (none) {
    return HostLabel::kNone;
  }
  return name == "both"       ? HostLabel::kBoth
         : name == "hostname" ? HostLabel::kSmall
                              : HostLabel::kCapital;
}

}  // namespace

Result<std::optional<Arguments>> ParseArguments(int argc, const char* const* argv) {
  CLI::App app("Serves the metrics of this node's GPUs, as NVIDIA's dcgm-exporter.",
               "dcgm-exporter");
  app.set_version_flag("--version", GANTRY_VERSION);
  Arguments arguments;
  bool no_host = false;
  std::string host_label = "Hostname";
  std::string number_format = "shortest";
  std::vector<std::string> resources;
  std::string web_config;
  AddServing(app, arguments);
  AddLabelling(app, arguments, no_host, host_label, number_format);
  AddKubernetes(app, arguments, resources);
  AddOwn(app, arguments);
  AddUnused(app, kNoEffect, arguments.no_effect);
  AddUnused(app, kNotYet, arguments.not_yet);
  app.add_option("--web-config-file", web_config, "not supported yet")
      ->envname("DCGM_EXPORTER_WEB_CONFIG_FILE");
  bool systemd = false;
  AddBool(app, "--web-systemd-socket", systemd, "DCGM_EXPORTER_SYSTEMD_SOCKET", "not supported");
  try {
    ParseWords(app, argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked, std::cout, std::cerr);
    return std::optional<Arguments>();
  } catch (const CLI::Error& error) {
    return Fail(ErrorKind::kInvalid, format("read the command line: {}", error.what()));
  }
  // Whoever asks for encryption or passwords must not get plain text.
  if (!web_config.empty()) {
    return Fail(ErrorKind::kUnsupported, "--web-config-file: not supported");
  }
  if (systemd) {
    return Fail(ErrorKind::kUnsupported, "--web-systemd-socket: not supported");
  }
  if (arguments.config_map == "none") {
    arguments.config_map.clear();
  }
  if (!arguments.config_map.empty() && Split(arguments.config_map, ':').size() != 2) {
    return Fail(ErrorKind::kInvalid,
                format("--configmap-data: \"{}\" is not namespace:name", arguments.config_map));
  }
  arguments.resource_names = {resources.begin(), resources.end()};
  arguments.labelling.host = HostLabelOf(no_host, host_label);
  arguments.labelling.numbers =
      number_format == "fixed" ? NumberForm::kFixed : NumberForm::kShortest;
  return arguments;
}

bool IsShippedFile(const std::string& path) {
  return path == "/etc/dcgm-exporter/default-counters.csv" ||
         path == "/etc/dcgm-exporter/dcp-metrics-included.csv";
}

}  // namespace gantry::metrics_exporter
