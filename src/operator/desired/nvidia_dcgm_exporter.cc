// SPDX-License-Identifier: Apache-2.0

// What does the DCGM exporter run with? NVIDIA's image: GPUs, or the DCGM of the same node, and the
// kubelet's list of which pod has which device. It asks the API server only for what of pods it is
// to add to its metrics, so it has a token only then, and the right to read pods too.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "operator/desired/monitoring.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kExporter = "nvidia-dcgm-exporter";
constexpr std::string_view kReadPods = "nvidia-dcgm-exporter-read-pods";
constexpr int kExporterPort = 9400;
constexpr Scraped kScraped{kExporter, "gpu-metrics", "app"};

// Whether labels or uids of pods are asked for, by a field or by the exporter's own variables.
bool AsksForPods(const policy::ClusterPolicy& policy) {
  static constexpr std::array kVariables = {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
                                            "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"};
  return policy.dcgm_exporter_options.pod_labels || policy.dcgm_exporter_options.pod_uid ||
         std::ranges::any_of(kVariables, [&](const char* name) {
           return UserEnv(policy.dcgm_exporter, name) == "true";
         });
}

bool ReadsConfigMap(const policy::OperandSpec& spec) {
  const std::string config = UserEnv(spec, "DCGM_EXPORTER_CONFIGMAP_DATA");
  return !config.empty() && config != "none";
}

void AddPodMetadata(const policy::DcgmExporterOptions& options, NvidiaDaemonSet& set) {
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
}

void AddFiles(const policy::ClusterPolicy& policy, NvidiaDaemonSet& set) {
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  set.HostVolume("pod-gpu-resources", policy.kubelet_root + "/pod-resources", HostDir::kDirectory);
  set.main().Mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", kReadOnly);
  if (options.hpc_jobs) {
    set.Env("DCGM_HPC_JOB_MAPPING_DIR", options.hpc_directory);
    set.HostPath("hpc-job-mapping", options.hpc_directory, options.hpc_directory, HostDir::kCreate,
                 true);
  }
  if (!options.config_name.empty()) {
    constexpr std::string_view kFile = "dcgm-metrics.csv";
    const std::string path = format("/etc/dcgm-exporter/{}", kFile);
    set.Volume("metrics-config", "configMap",
               {{"name", options.config_name}, {"items", {{{"key", kFile}, {"path", kFile}}}}});
    set.main().Mount("metrics-config", path, {.read_only = true, .sub_path = kFile});
    set.Env("DCGM_EXPORTER_COLLECTORS", path);
  }
}

Json Service(const Context& context) {
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

}  // namespace

Result<Objects> DcgmExporter(const Context& context, const std::string& image) {
  const policy::ClusterPolicy& policy = context.policy;
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  Objects objects = NvidiaAccount(context, kExporter, {Rule("", "configmaps", {"get", "list"})});
  const bool asks_for_pods = AsksForPods(policy);
  if (asks_for_pods) {
    AddClusterRole(objects, context, kReadPods,
                   Json::array({Rule("", "pods", {"get", "list", "watch"})}), kExporter);
  }
  LabelApp(objects, kExporter);

  NvidiaDaemonSet set(context, kExporter, kExporter, image, policy.dcgm_exporter);
  set.Annotate("openshift.io/scc", kExporter);
  set.SelectDeployed("dcgm-exporter");
  set.UseServiceAccount(kExporter, asks_for_pods || ReadsConfigMap(policy.dcgm_exporter));
  set.UseNvidiaRuntime(kExporter);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.AwaitToolkit();
  for (const auto& [key, value] : options.annotations) {
    set.AnnotatePods(key, value);
  }
  if (options.host_pid) {
    set.HostPid();
  }
  Json alive = HttpProbe("/health", kExporterPort, 45);
  alive["periodSeconds"] = 5;
  set.main()
      .Privileged()
      .Port("metrics", kExporterPort)
      .Set("livenessProbe", std::move(alive))
      .Set("readinessProbe", HttpProbe("/health", kExporterPort, 45))
      .Env("DCGM_EXPORTER_LISTEN", format(":{}", kExporterPort))
      .Env("DCGM_EXPORTER_KUBERNETES", "true")
      .Env("DCGM_EXPORTER_COLLECTORS", "/etc/dcgm-exporter/dcp-metrics-included.csv")
      .EnvFromField(names::kNodeName, "spec.nodeName");
  const policy::Operand& dcgm = *policy::OperandOfSection("dcgm");
  if (policy::Wanted(dcgm, policy) && policy::HasImage(dcgm, policy)) {
    set.Env("DCGM_REMOTE_HOSTENGINE_INFO", "nvidia-dcgm:5555");
  } else if (UserEnv(policy.dcgm_exporter, "DCGM_REMOTE_HOSTENGINE_INFO")
                 .starts_with("localhost")) {
    // A DCGM of the host itself.
    set.PodField("hostNetwork", true);
    set.PodField("dnsPolicy", "ClusterFirstWithHostNet");
  }
  AddPodMetadata(options, set);
  AddFiles(policy, set);
  objects.push_back(set.Finish());
  objects.push_back(Service(context));
  AddServiceMonitor(objects, context, kScraped, options.monitor);
  AddPrometheusRule(objects, context, {kExporter, "dcgm.accelerator.metrics"}, kScraped,
                    options.monitor, Recordings());
  return objects;
}

}  // namespace gantry::gpu_operator
