// SPDX-License-Identifier: Apache-2.0

// What does the DCGM exporter run with? The driver, as the device plugin has it, and the kubelet's
// list of which pod has which device. It asks the API server only for what the policy asks for:
// labels and uids of pods, claims, and a ConfigMap of counters that a variable names. One that the
// policy names is mounted as a folder, so that it sees changes.

#include "operator/desired/dcgm_exporter.h"

#include "base/text.h"
#include "operator/desired/exporter_options.h"
#include "operator/desired/makers.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/management_cdi.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

constexpr Scraped kScraped{kExporter, "gpu-metrics", "app"};
// Of the ConfigMap that dcgmExporter.config names.
constexpr std::string_view kCountersKey = "dcgm-metrics.csv";
constexpr std::string_view kCountersFolder = "/etc/dcgm-exporter";

Json ServiceOf(const Context& context) {
  const policy::DcgmExporterOptions& options = context.policy.dcgm_exporter_options;
  Json service = NvidiaService(context, kExporter, kScraped.port, kExporterPort);
  service["metadata"]["annotations"] = {{"prometheus.io/scrape", "true"}};
  if (!options.service_type.empty()) {
    service["spec"]["type"] = options.service_type;
  }
  if (!options.traffic_policy.empty()) {
    service["spec"]["internalTrafficPolicy"] = options.traffic_policy;
  }
  return service;
}

// What other accelerators' exporters are recorded as too. DCGM measures memory in MiB and clocks in
// MHz; drivers before 510 know of no reserved memory.
Json Recordings() {
  return Json::array(
      {Recording("accelerator_gpu_utilization", "DCGM_FI_DEV_GPU_UTIL"),
       Recording("accelerator_memory_used_bytes", "DCGM_FI_DEV_FB_USED * 1048576"),
       Recording("accelerator_memory_total_bytes",
                 "(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + "
                 "(DCGM_FI_DEV_FB_RESERVED or DCGM_FI_DEV_FB_FREE * 0)) * 1048576"),
       Recording("accelerator_power_usage_watts", "DCGM_FI_DEV_POWER_USAGE"),
       Recording("accelerator_temperature_celsius", "DCGM_FI_DEV_GPU_TEMP"),
       Recording("accelerator_sm_clock_hertz", "DCGM_FI_DEV_SM_CLOCK * 1000000"),
       Recording("accelerator_memory_clock_hertz", "DCGM_FI_DEV_MEM_CLOCK * 1000000")});
}

// A probe that need not wait: what answers it comes up at once.
Json Alive() {
  Json probe = HttpProbe("/health", kExporterPort, 0);
  probe["periodSeconds"] = 5;
  return probe;
}

// Root, because the kubelet's socket is root's; spc_t, because SELinux denies the host's files
// otherwise.
Json RightsOfRoot() {
  return {{"allowPrivilegeEscalation", false},
          // SYS_ADMIN: performance counters, and the NVIDIA runtime follows NVIDIA_VISIBLE_DEVICES.
          // SYSLOG: the kernel's log, which has XIDs.
          {"capabilities", {{"drop", {"ALL"}}, {"add", {"SYS_ADMIN", "SYSLOG"}}}},
          {"readOnlyRootFilesystem", true},
          {"runAsUser", 0},
          {"runAsGroup", 0},
          {"seLinuxOptions", {{"type", "spc_t"}}}};
}

// By the toolkit, if it is there for that. Otherwise the exporter makes the device nodes itself.
void ReachGpus(const Context& context, DaemonSet& set) {
  if (ExporterIsPrivileged(context)) {
    set.Privileged();
    set.Env(names::kVisibleDevices, "void");
    return;
  }
  const std::string devices =
      format("{},{}={}", AllGpus(), names::kManagementCdiKind, names::kKernelLogDevice);
  set.main().Set("securityContext", RightsOfRoot());
  set.UseNvidiaRuntime(kExporter, devices);
  set.Env(names::kVisibleDevices, context.policy.nri ? "void" : devices);
  set.Env("NVIDIA_MIG_MONITOR_DEVICES", "all");
  set.Env(names::kDriverCapabilities, "utility");
}

void AddCounters(const policy::DcgmExporterOptions& options, DaemonSet& set) {
  if (options.config_name.empty()) {
    set.Env("DCGM_EXPORTER_COLLECTORS", format("{}/dcp-metrics-included.csv", kCountersFolder));
    return;
  }
  set.Volume("metrics-config", "configMap",
             {{"name", options.config_name},
              {"items", {{{"key", kCountersKey}, {"path", kCountersKey}}}}});
  set.main().Mount("metrics-config", kCountersFolder, kReadOnly);
  set.Env("DCGM_EXPORTER_COLLECTORS", format("{}/{}", kCountersFolder, kCountersKey));
}

}  // namespace

void AddExporterService(Objects& objects, const Context& context) {
  const policy::MonitorSpec& monitor = context.policy.dcgm_exporter_options.monitor;
  objects.push_back(ServiceOf(context));
  AddServiceMonitor(objects, context, kScraped, monitor);
  AddPrometheusRule(objects, context, {kExporter, "dcgm.accelerator.metrics"}, kScraped, monitor,
                    Recordings());
}

Objects DcgmExporter(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  const ExporterReads reads = WhatExporterReads(policy);
  Objects objects = {ServiceAccount(context, kExporter)};
  AddHostRole(objects, context, kExporter,
              reads.config_map ? Json::array({Rule("", "configmaps", {"get"})}) : Json::array());
  AddExporterClusterRole(objects, context, reads);
  LabelApp(objects, kExporter);

  DaemonSet set(context, kExporter, kExporter, "dcgm-exporter", image, policy.dcgm_exporter);
  set.SelectDeployed("dcgm-exporter");
  set.UseServiceAccount(kExporter, reads.Anything());
  if (ExporterSeesProcesses(policy)) {
    set.HostPid();
  }
  ReachGpus(context, set);
  set.Port("metrics", kExporterPort);
  set.main().Set("livenessProbe", Alive()).Set("readinessProbe", Alive());
  set.Env("DCGM_EXPORTER_LISTEN", format(":{}", kExporterPort));
  set.Env("DCGM_EXPORTER_KUBERNETES", "true");
  AddCounters(options, set);
  AddExporterOptions(options, set);
  set.EnvFromField(names::kNodeName, "spec.nodeName");
  set.Env("WAIT_FOR_VALIDATIONS", names::kDriverReady);
  set.Env(policy.dcgm_exporter.env);
  set.HostRoot(true);
  set.ReadsValidations();
  set.DriverRoot();
  set.HostPath("metrics-exporter-state", names::kExporterState, names::kExporterState,
               HostDir::kCreate, false);
  if (policy.kubelet_root != names::kKubeletRoot) {
    set.Env("KUBELET_ROOT", policy.kubelet_root);
  }
  set.HostVolume("pod-gpu-resources", policy.kubelet_root + "/pod-resources", HostDir::kDirectory);
  set.main().Mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", kReadOnly);
  objects.push_back(set.Build());
  AddExporterService(objects, context);
  return objects;
}

}  // namespace gantry::gpu_operator
