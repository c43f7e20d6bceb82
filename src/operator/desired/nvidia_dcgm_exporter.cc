// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own DCGM exporter run with, if the policy names its image? GPUs, or the DCGM
// of the same node, and the kubelet's list of which pod has which device. It asks the API server
// only for what of pods it is to add to its metrics, so it has a token only then, and the right to
// read pods too.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "operator/desired/dcgm_exporter.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

constexpr std::string_view kReadPods = "nvidia-dcgm-exporter-read-pods";

// Whether labels or uids of pods are asked for, by a field or by the exporter's own variables.
bool AsksForPods(const policy::ClusterPolicy& policy) {
  static constexpr std::array kVariables = {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS",
                                            "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID"};
  return policy.dcgm_exporter_options.pod_labels || policy.dcgm_exporter_options.pod_uid ||
         std::ranges::any_of(kVariables, [&](const char* name) {
           return UserEnv(policy.dcgm_exporter, name) == "true";
         });
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

}  // namespace

Result<Objects> NvidiaDcgmExporter(const Context& context, const std::string& image) {
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
  AddExporterService(objects, context);
  return objects;
}

}  // namespace gantry::gpu_operator
