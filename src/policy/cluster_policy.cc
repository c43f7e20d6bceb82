// SPDX-License-Identifier: Apache-2.0

// What does a ClusterPolicy request? Reads the object into a struct with NVIDIA's defaults: an
// absent section is enabled or not by its own rule, and the error for a wrong type or enum value
// names the field.

#include "policy/cluster_policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "policy/dra_gates.h"
#include "policy/names.h"
#include "policy/operand_section.h"
#include "policy/operands.h"
#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

// As the API server reads a DaemonSet's.
bool IsCountOrPercentage(std::string_view text) {
  const bool percent = text.ends_with('%');
  text.remove_suffix(percent ? 1 : 0);
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const Result<long long> number = ParseInt(text);
  return digits && number.has_value() &&
         *number <= (percent ? 100 : std::numeric_limits<int32_t>::max());
}

void ReadDaemonSets(const SpecSection& section, ClusterPolicy& policy) {
  section.TextMap("labels", policy.pod_labels);
  section.TextMap("annotations", policy.pod_annotations);
  section.Array("tolerations", policy.tolerations);
  section.Text("priorityClassName", policy.priority_class);
  section.Object("podSecurityContext", policy.pod_security_context);
  std::string strategy;
  section.OneOf("updateStrategy", {"RollingUpdate", "OnDelete"}, strategy);
  policy.update_on_delete = strategy == "OnDelete";
  section.In("rollingUpdate").Text("maxUnavailable", policy.max_unavailable);
  if (!policy.max_unavailable.empty() && !IsCountOrPercentage(policy.max_unavailable)) {
    section.In("rollingUpdate")
        .Wrong("maxUnavailable",
               format("\"{}\" is neither a number of 32 bits nor a percentage up to 100%",
                      policy.max_unavailable));
  }
}

void ReadCluster(const SpecSection& spec, ClusterPolicy& policy) {
  spec.In("operator").Text("runtimeClass", policy.runtime_class);
  spec.In("psa").Bool("enabled", policy.pod_security_labels);
  ReadDaemonSets(spec.In("daemonsets"), policy);
  const SpecSection paths = spec.In("hostPaths");
  paths.Text("rootFS", policy.host_root);
  paths.Text("driverInstallDir", policy.driver_install_dir);
  paths.Text("kubeletRootDir", policy.kubelet_root);
  spec.In("cdi").Bool("enabled", policy.cdi);
  spec.In("cdi").Bool("nriPluginEnabled", policy.nri);
  spec.In("mig").OneOf("strategy", {"none", "single", "mixed"}, policy.mig_strategy);
  const SpecSection sandbox = spec.In("sandboxWorkloads");
  sandbox.Bool("enabled", policy.sandbox);
  sandbox.OneOf("mode", {"kubevirt", "kata"}, policy.sandbox_mode);
  sandbox.OneOf("defaultWorkload", {"container", "vm-passthrough", "vm-vgpu"},
                policy.default_workload);
}

void ReadDriver(const SpecSection& section, DriverOptions& out) {
  section.Bool("useNvidiaDriverCRD", out.crd);
  ReadDriverManager(section.In("manager"), out.manager);
  section.OneOf("kernelModuleType", {"auto", "open", "proprietary"}, out.kernel_module_type);
  section.Bool("usePrecompiled", out.precompiled);
  section.In("rdma").Bool("enabled", out.rdma);
  section.In("rdma").Bool("useHostMofed", out.host_mofed);
  ReadProbe(section.In("startupProbe"), out.startup);
  const SpecSection licensing = section.In("licensingConfig");
  licensing.Text("secretName", out.licensing_secret);
  licensing.Text("configMapName", out.licensing_config);
  licensing.Bool("nlsEnabled", out.nls);
  section.In("virtualTopology").Text("config", out.topology_config);
  section.In("kernelModuleConfig").Text("name", out.kernel_module_config);
  section.In("repoConfig").Text("configMapName", out.repo_config);
  section.In("certConfig").Text("name", out.cert_config);
  section.Text("secretEnv", out.secret_env);
  out.upgrade = ReadUpgradePolicy(section.In("upgradePolicy"), {});
}

void ReadMonitor(const SpecSection& parent, MonitorSpec& out) {
  constexpr std::string_view kSection = "serviceMonitor";
  const SpecSection section = parent.In(kSection);
  out.written = parent.Find(kSection) != nullptr;
  section.Bool("enabled", out.enabled);
  section.Text("interval", out.interval);
  section.Text("scrapeTimeout", out.scrape_timeout);
  section.Bool("honorLabels", out.honor_labels);
  section.TextMap("additionalLabels", out.labels);
  section.Array("relabelings", out.relabelings);
}

void ReadDcgmExporter(const SpecSection& section, DcgmExporterOptions& out) {
  section.TextMap("annotations", out.annotations);
  section.In("config").Text("name", out.config_name);
  section.Bool("enablePodLabels", out.pod_labels);
  section.Bool("enablePodUID", out.pod_uid);
  section.Texts("podLabelAllowlistRegex", out.pod_label_allowlist);
  section.Bool("hostPID", out.host_pid);
  section.In("hpcJobMapping").Bool("enabled", out.hpc_jobs);
  section.In("hpcJobMapping").Text("directory", out.hpc_directory);
  section.In("service").Text("type", out.service_type);
  section.In("service").Text("internalTrafficPolicy", out.traffic_policy);
  ReadMonitor(section, out.monitor);
}

// The section's image contains CUDA; the operand runs Gantry's image.
void ReadCuda(const SpecSection& section, ClusterPolicy& policy) {
  ImageSpec& image = policy.cuda.image;
  policy.cuda_source = {std::exchange(image.repository, {}), std::exchange(image.image, {}),
                        std::exchange(image.version, {}), Json()};
  section.Object("volume", policy.cuda_source.volume);
}

void ReadDraDriver(const SpecSection& section, ClusterPolicy& policy) {
  const SpecSection plugin = section.In("gpus").In("kubeletPlugin");
  plugin.Env(policy.dra_driver.env);
  plugin.Object("resources", policy.dra_driver.resources);
  Json gates;
  section.Object("featureGates", gates);
  const SpecSection gates_section = section.In("featureGates");
  for (const auto& [gate, value] : gates.items()) {
    if (DraGateNamed(gate) == DraGate::kUnknown) {
      gates_section.Wrong(gate, "the DRA driver has no such feature gate");
    }
    gates_section.Bool(gate, policy.dra_gates[gate]);
  }
}

// Additional fields of single operands.
void ReadOperandOptions(const SpecSection& spec, ClusterPolicy& policy) {
  ReadMonitor(spec.In("operator").In("metrics"), policy.operator_monitor);
  ReadDriver(spec.In("driver"), policy.driver_options);
  spec.In("operator").Bool("use_ocp_driver_toolkit", policy.driver_options.openshift_toolkit);
  spec.In("toolkit").Text("installDir", policy.install_dir);
  const SpecSection plugin = spec.In("devicePlugin");
  plugin.In("config").Text("name", policy.config_name);
  plugin.In("config").Text("default", policy.config_default);
  plugin.In("mps").Text("root", policy.mps_root);
  ReadDcgmExporter(spec.In("dcgmExporter"), policy.dcgm_exporter_options);
  const SpecSection mig = spec.In("migManager");
  mig.In("config").Text("name", policy.mig_config);
  // An empty string disables the default.
  if (const Json* config = mig.In("config").Find("default");
      config != nullptr && config->is_string() && config->get_ref<const std::string&>().empty()) {
    policy.mig_default.clear();
  }
  mig.In("config").OneOf("default", {"all-disabled"}, policy.mig_default);
  mig.In("gpuClientsConfig").Text("name", policy.gpu_clients);
  policy.gpu_holders = ReadGpuHolders(mig.In("gpuHolders"), {});
  const SpecSection vgpu_devices = spec.In("vgpuDeviceManager").In("config");
  vgpu_devices.Text("name", policy.vgpu_config);
  vgpu_devices.Text("default", policy.vgpu_default);
  ReadDriverManager(spec.In("vgpuManager").In("driverManager"), policy.vgpu_driver_manager);
  spec.In("vgpuManager").In("kernelModuleConfig").Text("name", policy.vgpu_kernel_module_config);
  ReadDriverManager(spec.In("vfioManager").In("driverManager"), policy.vfio_driver_manager);
  spec.In("ccManager").OneOf("defaultMode", {"on", "off", "devtools"}, policy.cc_default_mode);
}

void ReadValidatorStages(const SpecSection& validator, ClusterPolicy& policy) {
  validator.In("driver").Env(policy.validator_driver_env);
  validator.In("toolkit").Env(policy.validator_toolkit_env);
  validator.In("cuda").Env(policy.validator_cuda_env);
  validator.In("plugin").Env(policy.validator_plugin_env);
  validator.In("vfioPCI").Env(policy.validator_vfio_pci_env);
  validator.In("vgpuManager").Env(policy.validator_vgpu_manager_env);
  validator.In("vgpuDevices").Env(policy.validator_vgpu_devices_env);
}

}  // namespace

Result<ClusterPolicy> Parse(const Json& object) {
  std::optional<Error> mistake;
  const SpecSection spec(At(object, "spec"), "spec", &mistake);
  ClusterPolicy policy;
  policy.tolerations = Json::array(
      {{{"key", names::kGpuResource}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  ReadCluster(spec, policy);
  for (const Operand& operand : Operands()) {
    if (!operand.section.empty()) {
      OperandSpec& section = policy.*operand.spec;
      section.enabled = operand.on;
      ReadOperand(spec.In(operand.section), section);
    }
  }
  ReadOperand(spec.In("gds"), policy.gds);
  ReadOperand(spec.In("gdrcopy"), policy.gdrcopy);
  ReadOperandOptions(spec, policy);
  ReadCuda(spec.In("cuda"), policy);
  ReadDraDriver(spec.In("draDriver"), policy);
  ReadValidatorStages(spec.In("validator"), policy);
  if (policy.nri && !(policy.cdi && policy.toolkit.enabled)) {
    spec.In("cdi").Wrong("nriPluginEnabled", "needs cdi.enabled and toolkit.enabled");
  }
  if (mistake.has_value()) {
    return std::unexpected(*std::move(mistake));
  }
  return policy;
}

}  // namespace gantry::policy
