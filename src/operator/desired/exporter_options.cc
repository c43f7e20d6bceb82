// SPDX-License-Identifier: Apache-2.0

// What do the fields of dcgmExporter come to, whichever exporter runs? Each right that the exporter
// has follows from a field, or from a variable of the exporter's own.

#include "operator/desired/exporter_options.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "operator/desired/dcgm_exporter.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kReadPods = "nvidia-dcgm-exporter-read-pods";

bool IsOn(const policy::ClusterPolicy& policy, std::string_view variable) {
  return ParseBool(UserEnv(policy.dcgm_exporter, variable)).value_or(false);
}

// As Prometheus writes it: "1h30m", each unit at most once, from the largest to the smallest.
std::optional<milliseconds> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    long long milliseconds;
  };
  static constexpr auto kUnits = std::to_array<Unit>({{"y", 31'536'000'000},
                                                      {"w", 604'800'000},
                                                      {"d", 86'400'000},
                                                      {"h", 3'600'000},
                                                      {"m", 60'000},
                                                      {"s", 1'000},
                                                      {"ms", 1}});
  long long sum = 0;
  size_t next = 0;  // of kUnits
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const Result<long long> number = ParseInt(text.substr(0, digits));
    text.remove_prefix(digits);
    const std::string_view name = text.substr(0, text.find_first_of("0123456789"));
    const auto* const unit = std::find_if(kUnits.begin() + next, kUnits.end(),
                                          [&](const Unit& one) { return one.name == name; });
    if (!number.has_value() || unit == kUnits.end() || *number > 1'000'000) {
      return std::nullopt;
    }
    sum += *number * unit->milliseconds;
    next = static_cast<size_t>(unit - kUnits.begin()) + 1;
    text.remove_prefix(name.size());
  }
  return milliseconds(sum);
}

std::string Wrong(std::string_view field, std::string_view value, std::string_view wanted) {
  return format("spec.dcgmExporter.{}: \"{}\" is not {}", field, value, wanted);
}

std::string MonitorMistake(const policy::MonitorSpec& monitor) {
  constexpr std::string_view kDuration = "a duration such as 30s or 1m30s";
  const auto interval = ParseDuration(monitor.interval);
  const auto timeout = ParseDuration(monitor.scrape_timeout);
  if (!interval) {
    return Wrong("serviceMonitor.interval", monitor.interval, kDuration);
  }
  if (!timeout) {
    return Wrong("serviceMonitor.scrapeTimeout", monitor.scrape_timeout, kDuration);
  }
  // The Prometheus operator leaves such a ServiceMonitor out, and says so in its own log only.
  if (*interval > milliseconds(0) && *timeout > *interval) {
    return format(
        "spec.dcgmExporter.serviceMonitor.scrapeTimeout: {} is more than the interval, {}",
        monitor.scrape_timeout, monitor.interval);
  }
  return "";
}

}  // namespace

std::string ExporterMistake(const policy::ClusterPolicy& policy) {
  static constexpr std::array kTypes = {"", "ClusterIP", "NodePort", "LoadBalancer"};
  static constexpr std::array kTraffic = {"", "Cluster", "Local"};
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  if (std::ranges::find(kTypes, options.service_type) == kTypes.end()) {
    return Wrong("service.type", options.service_type, "ClusterIP, NodePort or LoadBalancer");
  }
  if (std::ranges::find(kTraffic, options.traffic_policy) == kTraffic.end()) {
    return Wrong("service.internalTrafficPolicy", options.traffic_policy, "Cluster or Local");
  }
  if (!options.hpc_directory.starts_with('/') || options.hpc_directory.contains("..")) {
    return Wrong("hpcJobMapping.directory", options.hpc_directory,
                 "an absolute path of the host without \"..\"");
  }
  return MonitorMistake(options.monitor);
}

ExporterReads WhatExporterReads(const policy::ClusterPolicy& policy) {
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  const std::string config = UserEnv(policy.dcgm_exporter, "DCGM_EXPORTER_CONFIGMAP_DATA");
  return {.config_map = !config.empty() && config != "none",
          .pods = options.pod_labels || options.pod_uid ||
                  IsOn(policy, "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS") ||
                  IsOn(policy, "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"),
          .claims = IsOn(policy, "KUBERNETES_ENABLE_DRA")};
}

void AddExporterClusterRole(Objects& objects, const Context& context, const ExporterReads& reads) {
  Json rules = Json::array();
  if (reads.pods || reads.claims) {
    rules.push_back(Rule("", "pods", {"get", "list", "watch"}));
  }
  if (reads.claims) {
    rules.push_back(Rule("resource.k8s.io", "resourceslices", {"get", "list", "watch"}));
    // Whether a claim's pods use its devices, or only look at them.
    rules.push_back(Rule("resource.k8s.io", "resourceclaims", {"get"}));
  }
  if (!rules.empty()) {
    AddClusterRole(objects, context, kReadPods, std::move(rules), kExporter);
  }
}

bool ExporterIsPrivileged(const Context& context) {
  // With these the toolkit writes another CDI document, or the runtime does not read it.
  static constexpr std::array kDecisive = {"CDI_ENABLED",
                                           "ENABLE_CDI",
                                           "CDI_OUTPUT_DIR",
                                           "CDI_KIND",
                                           "NO_RUNTIME_CONFIG",
                                           "NVIDIA_CONTAINER_RUNTIME_MODE",
                                           "NVIDIA_RUNTIME_NAME",
                                           "ENABLE_NRI_PLUGIN",
                                           "CONTAINERD_RUNTIME_CLASS"};
  const policy::ClusterPolicy& policy = context.policy;
  const policy::OperandSpec& toolkit = policy.toolkit;
  const bool own =
      !toolkit.args.empty() || std::ranges::any_of(toolkit.env, [](const auto& variable) {
        return std::ranges::find(kDecisive, variable.first) != kDecisive.end();
      });
  return !policy.cdi || !toolkit.enabled || !RunsOurs(context, toolkit) || own;
}

bool ExporterSeesProcesses(const policy::ClusterPolicy& policy) {
  return policy.dcgm_exporter_options.host_pid || IsOn(policy, "KUBERNETES_VIRTUAL_GPUS");
}

void AddExporterOptions(const policy::DcgmExporterOptions& options, DaemonSet& set) {
  for (const auto& [key, value] : options.annotations) {
    set.AnnotatePods(key, value);
  }
  if (options.pod_labels) {
    set.Env("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS", "true");
  }
  if (options.pod_uid) {
    set.Env("DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID", "true");
  }
  if (!options.pod_label_allowlist.empty()) {
    set.Env("DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX",
            Join(options.pod_label_allowlist, ","));
  }
  if (options.hpc_jobs) {
    set.Env("DCGM_HPC_JOB_MAPPING_DIR", options.hpc_directory);
    set.HostPath("hpc-job-mapping", options.hpc_directory, options.hpc_directory, HostDir::kCreate,
                 true);
  }
}

}  // namespace gantry::gpu_operator
