// SPDX-License-Identifier: Apache-2.0
// What do the command line and the environment say? What dcgm-exporter knows is accepted; what only
// means something to DCGM is named once in the log, what is missing here ends the program.
#include "operands/metrics_exporter/flags.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "agent/flags.h"
#include "base/paths.h"
#include "base/text.h"
#include "policy/names.h"
#include "policy/plugin_config.h"

namespace gantry::metrics_exporter {
namespace {

// As they are written; what is made of them once all is read.
struct Words {
  long long interval;  // milliseconds, and the next two
  long long xid_window;
  long long clock_window;
  bool no_host = false;
  std::string host_label = "Hostname";
  std::string number_format = "shortest";
  std::vector<std::string> resources = {};
  std::vector<std::string> label_expressions = {};
  bool systemd = false;
  std::string config_file = {};
};

void AddMilliseconds(agent::FlagSet& set, const char* names, long long& into, const char* variable,
                     const char* help) {
  set.Value(names, into, {variable}, help)->check(CLI::Range(1LL, 86'400'000LL));
}

// As Go writes a duration.
void AddTimeout(agent::FlagSet& set, const char* name, std::chrono::milliseconds& into,
                const char* variable, const char* help) {
  const auto take = [&into](const std::string& text) -> Status {
    TRY_ASSIGN(const auto duration, policy::ParseDuration(text));
    into = std::chrono::duration_cast<std::chrono::milliseconds>(duration);
    if (into <= std::chrono::milliseconds(0) || into > std::chrono::hours(24)) {
      return Fail(ErrorKind::kInvalid, format("\"{}\" is not between 1ms and 24h", text));
    }
    return {};
  };
  set.Custom(name, take, {variable}, help);
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
    {"--max-concurrent-scrapes", "DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES"},
    {"--watch-max-keep-age", "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE"},
    {"--watch-max-keep-samples", "DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES"},
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
    {"--container-labels", "DCGM_EXPORTER_CONTAINER_LABELS"},
    {"--container-runtime-socket", "DCGM_CONTAINER_RUNTIME_SOCKET"},
});

// Values that ask for what happens anyway.
bool AsksForNothing(const std::string& value) {
  return value.empty() || value == "f" || value == "false" || value == "0";
}

void AddUnused(agent::FlagSet& set, std::span<const Unused> all, std::vector<std::string>& given) {
  for (const Unused& one : all) {
    const auto take = [&given, name = Split(one.flags, ',').front()](const std::string& value) {
      if (!AsksForNothing(value)) {
        given.push_back(name);
      }
      return Status();
    };
    CLI::Option* const option = set.Custom(one.flags, take, {one.variable}, "accepted");
    if (one.is_switch) {
      option->expected(0, 1)->default_str("true");
    }
  }
}

void AddServing(agent::FlagSet& set, Flags& to, Words& words) {
  set.Value("--collectors,-f", to.collectors, {"DCGM_EXPORTER_COLLECTORS"}, "file of counters");
  set.Value("--configmap-data,-m", to.config_map, {"DCGM_EXPORTER_CONFIGMAP_DATA"},
            "namespace:name of a ConfigMap with counters under the key metrics, in the place of "
            "the file");
  set.Value("--config-file", words.config_file, {"DCGM_EXPORTER_CONFIG_FILE"},
            "YAML; flags and variables win over it");
  set.Value("--address,-a", to.address, {"DCGM_EXPORTER_LISTEN"}, "where to listen");
  AddMilliseconds(set, "--collect-interval,-c", words.interval, "DCGM_EXPORTER_INTERVAL",
                  "milliseconds between two looks at the GPUs");
  AddMilliseconds(set, "--xid-count-window-size,-x", words.xid_window,
                  "DCGM_EXPORTER_XID_COUNT_WINDOW_SIZE", "milliseconds");
  AddMilliseconds(set, "--clock-events-count-window-size", words.clock_window,
                  "DCGM_EXPORTER_CLOCK_EVENTS_COUNT_WINDOW_SIZE", "milliseconds");
  const auto devices = [&to](const std::string& text) -> Status {
    TRY_ASSIGN(to.devices, ParseDevices(text));
    return {};
  };
  set.Custom("--devices,-d", devices, {"DCGM_EXPORTER_DEVICES_STR"},
             "GPUs and GPU instances that have series: f, g, i, g:0,2-3, i:0-6, g:0+i:8");
  set.Bool("--enable-exporter-metrics", to.process_metrics,
           {"DCGM_EXPORTER_ENABLE_EXPORTER_METRICS"}, "metrics of the exporter's process too");
  set.Bool("--debug", to.debug, {"DCGM_EXPORTER_DEBUG"}, "more log lines");
  set.Value("--web-config-file", to.web.web_config_file, {"DCGM_EXPORTER_WEB_CONFIG_FILE"},
            "Prometheus' web configuration: TLS, passwords");
  AddTimeout(set, "--web-read-timeout", to.web.read_timeout, "DCGM_EXPORTER_WEB_READ_TIMEOUT",
             "until a request is complete");
  AddTimeout(set, "--web-write-timeout", to.web.write_timeout, "DCGM_EXPORTER_WEB_WRITE_TIMEOUT",
             "then, until its response is sent");
  set.Bool("--web-systemd-socket", words.systemd, {"DCGM_EXPORTER_SYSTEMD_SOCKET"},
           "not supported");
}

void AddLabelling(agent::FlagSet& set, Flags& to, Words& words) {
  set.Bool("--use-old-namespace,-o", to.labelling.old_names, {"DCGM_EXPORTER_USE_OLD_NAMESPACE"},
           "names of labels as in 1.x");
  set.Bool("--no-hostname,-n", words.no_host, {"DCGM_EXPORTER_NO_HOSTNAME"}, "no host label");
  set.Value("--hostname-label", words.host_label, {"DCGM_EXPORTER_HOSTNAME_LABEL"},
            "Hostname (as up to 4.5.3), hostname (as since then) or both")
      ->check(CLI::IsMember({"Hostname", "hostname", "both"}));
  set.Value("--number-format", words.number_format, {"DCGM_EXPORTER_NUMBER_FORMAT"},
            "shortest (as since 4.8.3) or fixed (as before)")
      ->check(CLI::IsMember({"shortest", "fixed"}));
  set.Bool("--replace-blanks-in-model-name,--rbmn", to.labelling.replace_blanks,
           {"DCGM_EXPORTER_REPLACE_BLANKS_IN_MODEL_NAME"}, "");
  set.Value("--node-name", to.labelling.node, {names::kNodeName}, "the host label's value");
}

void AddKubernetes(agent::FlagSet& set, Flags& to, Words& words) {
  set.Bool("--kubernetes,-k", to.kubernetes, {"DCGM_EXPORTER_KUBERNETES"},
           "labels of the pods that hold GPUs");
  set.Value("--pod-resources-kubelet-socket", to.pod_resources,
            {"DCGM_POD_RESOURCES_KUBELET_SOCKET"}, "");
  set.List("--nvidia-resource-names", words.resources, {"NVIDIA_RESOURCE_NAMES"},
           "further resources that are GPUs");
  set.Bool("--kubernetes-virtual-gpus", to.labelling.every_holder, {"KUBERNETES_VIRTUAL_GPUS"},
           "series for each pod of a shared GPU, with what its processes use");
  set.Bool("--kubernetes-enable-pod-uid", to.pods.uid_label,
           {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"}, "the label pod_uid");
  set.Bool("--kubernetes-enable-pod-labels", to.pod_labels,
           {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"}, "labels of pods as labels of series");
  set.List("--kubernetes-pod-label-allowlist-regex", words.label_expressions,
           {"DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"},
           "which labels of pods; empty: all");
  set.Bool("--kubernetes-enable-dra", to.claims, {"KUBERNETES_ENABLE_DRA"},
           "pods that hold GPUs by resource claims");
  set.Value("--hpc-job-mapping-dir", to.jobs_dir, {"DCGM_HPC_JOB_MAPPING_DIR"},
            "a folder with a file of jobs for each GPU");
  set.Value("--kubeconfig", to.kubeconfig, {"KUBECONFIG"}, "empty: the pod's service account");
}

void AddOwn(agent::FlagSet& set, Flags& to) {
  agent::AddStatusFlags(set, to);
  set.Value("--host-root", to.host_root, {"HOST_ROOT"}, "where the host's root is mounted here")
      ->default_val("/host");
  set.Value("--kubelet-root", to.kubelet_root, {"KUBELET_ROOT"},
            "the kubelet's --root-dir, on the host, to notice pods that come and go");
  set.Value("--state-dir", to.state_dir, {}, "where counts are kept; empty: nowhere");
  set.app().add_flag("--list-fields", to.list_fields, "print the names of all metrics, and end");
  set.Value("--driver-root-ctr-path", to.driver_root, {"DRIVER_ROOT_CTR_PATH"},
            "where the driver root is mounted here");
}

HostLabel HostLabelOf(bool none, const std::string& name) {
  if (none) {
    return HostLabel::kNone;
  }
  return name == "both"       ? HostLabel::kBoth
         : name == "hostname" ? HostLabel::kSmall
                              : HostLabel::kCapital;
}

// What a flag or a variable says stays.
Status ApplyYaml(CLI::App& app, Words& words, Flags& flags) {
  if (words.config_file.empty()) {
    return {};
  }
  const auto named = [&words](const Error& error) {
    return std::unexpected(error.In("--config-file " + words.config_file));
  };
  const Result<std::string> text = ReadFile(words.config_file);
  if (!text) {
    return named(text.error());
  }
  Result<YamlConfig> config = ParseYamlConfig(*text);
  if (!config) {
    return named(config.error());
  }
  const auto given = [&app](const char* flag) { return app.get_option(flag)->count() != 0; };
  if (!given("--collectors") && !given("--configmap-data")) {
    flags.collectors = config->counters_file.value_or(flags.collectors);
    flags.counters = std::move(config->counters);
  }
  if (!given("--enable-exporter-metrics")) {
    flags.process_metrics = config->exporter_metrics.value_or(flags.process_metrics);
  }
  if (!given("--collect-interval")) {
    words.interval = config->interval.value_or(std::chrono::milliseconds(words.interval)).count();
  }
  flags.groups = std::move(config->groups);
  for (const std::string& key : config->no_effect) {
    flags.no_effect.push_back(format("{} of --config-file", key));
  }
  return {};
}

// One mistake, or the flags made whole.
Status Complete(const Words& words, Flags& flags) {
  if (words.systemd) {
    return Fail(ErrorKind::kUnsupported, "--web-systemd-socket: not supported");
  }
  if (flags.config_map == "none") {
    flags.config_map.clear();
  }
  if (!flags.config_map.empty() && Split(flags.config_map, ':').size() != 2) {
    return Fail(ErrorKind::kInvalid,
                format("--configmap-data: \"{}\" is not namespace:name", flags.config_map));
  }
  flags.interval = std::chrono::milliseconds(words.interval);
  for (const WatchGroup& group : flags.groups) {
    flags.interval = std::min(flags.interval, group.interval);
  }
  flags.windows.xids = std::chrono::milliseconds(words.xid_window);
  flags.windows.clocks = std::chrono::milliseconds(words.clock_window);
  flags.pods.resource_names = {words.resources.begin(), words.resources.end()};
  flags.pods.every_holder = flags.labelling.every_holder;
  auto filter = LabelFilter::Parse(words.label_expressions);
  if (!filter) {
    return std::unexpected(filter.error().In("--kubernetes-pod-label-allowlist-regex"));
  }
  flags.label_filter = *std::move(filter);
  flags.labelling.host = HostLabelOf(words.no_host, words.host_label);
  flags.labelling.numbers =
      words.number_format == "fixed" ? NumberForm::kFixed : NumberForm::kShortest;
  return {};
}

}  // namespace

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram,
                     "Serves the metrics of this node's GPUs, as NVIDIA's dcgm-exporter.");
  Flags flags;
  Words words{.interval = flags.interval.count(),
              .xid_window = flags.windows.xids.count(),
              .clock_window = flags.windows.clocks.count()};
  AddServing(set, flags, words);
  AddLabelling(set, flags, words);
  AddKubernetes(set, flags, words);
  AddOwn(set, flags);
  AddUnused(set, kNoEffect, flags.no_effect);
  AddUnused(set, kNotYet, flags.not_yet);
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  if (!run) {
    return std::nullopt;
  }
  TRY(ApplyYaml(set.app(), words, flags));
  TRY(Complete(words, flags));
  return flags;
}

bool IsShippedFile(const std::string& path) {
  return path == "/etc/dcgm-exporter/default-counters.csv" ||
         path == "/etc/dcgm-exporter/dcp-metrics-included.csv";
}

}  // namespace gantry::metrics_exporter
