// SPDX-License-Identifier: Apache-2.0

// What does NVIDIA's own DCGM exporter run with, if the policy names its image? GPUs, or the DCGM
// of the same node, and the kubelet's list of which pod has which device. It asks the API server
// only for what of pods it is to add to its metrics, so it has a token only then, and the right to
// read pods too.

#include "base/text.h"
#include "operator/desired/dcgm_exporter.h"
#include "operator/desired/exporter_options.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "policy/names.h"
#include "policy/operands.h"

namespace gantry::gpu_operator {
namespace {

void AddFiles(const policy::ClusterPolicy& policy, NvidiaDaemonSet& set) {
  const policy::DcgmExporterOptions& options = policy.dcgm_exporter_options;
  set.HostVolume("pod-gpu-resources", policy.kubelet_root + "/pod-resources", HostDir::kDirectory);
  set.main().Mount("pod-gpu-resources", "/var/lib/kubelet/pod-resources", kReadOnly);
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
  const ExporterReads reads = WhatExporterReads(policy);
  AddExporterClusterRole(objects, context, reads);
  LabelApp(objects, kExporter);

  NvidiaDaemonSet set(context, kExporter, kExporter, image, policy.dcgm_exporter);
  set.Annotate("openshift.io/scc", kExporter);
  set.SelectDeployed("dcgm-exporter");
  set.UseServiceAccount(kExporter, reads.Anything());
  set.UseNvidiaRuntime(kExporter);
  set.HostVolume("run-nvidia-validations", names::kValidationsDir, HostDir::kCreate);
  set.AwaitToolkit();
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
  AddExporterOptions(options, set);
  AddFiles(policy, set);
  objects.push_back(set.Finish());
  AddExporterService(objects, context);
  return objects;
}

}  // namespace gantry::gpu_operator
