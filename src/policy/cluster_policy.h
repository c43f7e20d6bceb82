// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "policy/gpu_holders.h"
#include "policy/upgrade_policy.h"

namespace gantry::policy {

// repository, image, version, imagePullPolicy and imagePullSecrets of one operand, as written.
struct ImageSpec {
  std::string repository;
  std::string image;
  std::string version;
  std::string pull_policy;
  std::vector<std::string> pull_secrets;
  bool operator==(const ImageSpec&) const = default;
};

using EnvVars = std::vector<std::pair<std::string, std::string>>;

// The common fields of all operands' sections.
struct OperandSpec {
  bool enabled = false;
  ImageSpec image;
  std::vector<std::string> args;
  EnvVars env;
  bool host_network = false;
  Json resources;  // {"limits", "requests"} or null
  bool operator==(const OperandSpec&) const = default;
};

// Which CUDA the nodes get, and its source, as written (cuda_source.h).
struct CudaSpec {
  std::string repository;
  std::string image;
  std::string version;
  Json volume;  // {"hostPath"} or {"persistentVolumeClaim"}, or null
  bool operator==(const CudaSpec&) const = default;
};

// Seconds and counts of a probe; 0: the operand's default.
struct ProbeSpec {
  long long initial_delay = 0;
  long long timeout = 0;
  long long period = 0;
  long long success = 0;
  long long failure = 0;
  bool operator==(const ProbeSpec&) const = default;
};

// driver_manager of a section: the program that removes a driver from a node.
struct DriverManagerSpec {
  ImageSpec image;
  EnvVars env;
  bool operator==(const DriverManagerSpec&) const = default;
};

// Fields that only the driver's section has. Names are of ConfigMaps or Secrets of the namespace.
struct DriverOptions {
  bool crd = false;  // useNvidiaDriverCRD
  DriverManagerSpec manager;
  std::string kernel_module_type;  // auto, open, proprietary, or empty
  bool precompiled = false;
  bool rdma = false;
  bool host_mofed = false;
  bool openshift_toolkit = true;  // operator.use_ocp_driver_toolkit
  ProbeSpec startup;
  std::string licensing_secret;
  std::string licensing_config;
  bool nls = false;
  std::string topology_config;
  std::string kernel_module_config;
  std::string repo_config;
  std::string cert_config;
  std::string secret_env;
  UpgradePolicy upgrade;
  bool operator==(const DriverOptions&) const = default;
};

// How Prometheus scrapes an operand.
struct MonitorSpec {
  bool written = false;  // the policy has the section
  bool enabled = false;
  std::string interval = {};
  std::string scrape_timeout = {};
  bool honor_labels = false;
  std::map<std::string, std::string> labels = {};
  Json relabelings = Json::array();
  bool operator==(const MonitorSpec&) const = default;
};

// Fields that only the DCGM exporter's section has.
struct DcgmExporterOptions {
  std::map<std::string, std::string> annotations;  // of its pods
  std::string config_name;                         // a ConfigMap with dcgm-metrics.csv
  bool pod_labels = false;
  bool pod_uid = false;
  std::vector<std::string> pod_label_allowlist;
  bool host_pid = false;
  bool hpc_jobs = false;
  std::string hpc_directory = "/var/lib/dcgm-exporter/job-mapping";
  std::string service_type;
  std::string traffic_policy;
  MonitorSpec monitor;
  bool operator==(const DcgmExporterOptions&) const = default;
};

// nvidia.com/v1 ClusterPolicy, spec: the fields that have an effect, with NVIDIA's defaults.
struct ClusterPolicy {
  std::string runtime_class = "nvidia";
  MonitorSpec operator_monitor = {.enabled = true};  // operator.metrics.serviceMonitor

  std::map<std::string, std::string> pod_labels;       // daemonsets.labels
  std::map<std::string, std::string> pod_annotations;  // daemonsets.annotations
  Json tolerations;                                    // daemonsets.tolerations, never empty
  std::string priority_class = "system-node-critical";
  Json pod_security_context;  // or null
  bool update_on_delete = false;
  std::string max_unavailable;       // daemonsets.rollingUpdate.maxUnavailable: "2", "10%" or empty
  bool pod_security_labels = false;  // psa.enabled

  std::string host_root = "/";
  std::string driver_install_dir = "/run/nvidia/driver";
  std::string kubelet_root = "/var/lib/kubelet";

  bool cdi = true;
  bool nri = false;
  std::string mig_strategy;  // none, single, mixed, or empty
  bool sandbox = false;
  std::string sandbox_mode = "kubevirt";
  std::string default_workload = "container";

  // One for each operand that has a section; policy/operands.h names them.
  OperandSpec driver;
  OperandSpec toolkit;
  OperandSpec device_plugin;
  OperandSpec dcgm;
  OperandSpec dcgm_exporter;
  OperandSpec gfd;
  OperandSpec mig_manager;
  OperandSpec node_status_exporter;
  OperandSpec validator;  // always enabled
  OperandSpec vgpu_manager;
  OperandSpec vgpu_device_manager;
  OperandSpec vfio_manager;
  OperandSpec sandbox_device_plugin;
  OperandSpec kata_device_plugin;
  OperandSpec kata_manager;
  OperandSpec cc_manager;
  OperandSpec cuda;        // of a GPUClusterPolicy; its source is cuda_source
  OperandSpec dra_driver;  // of a GPUCluster (gpu_cluster.h)
  // Containers of the driver's pod, with an image of their own.
  OperandSpec gds;
  OperandSpec gdrcopy;

  DriverOptions driver_options;
  std::string install_dir = "/usr/local/nvidia";
  std::string config_name;     // devicePlugin.config.name, a ConfigMap
  std::string config_default;  // devicePlugin.config.default, a key of it
  std::string mps_root = "/run/nvidia/mps";
  DcgmExporterOptions dcgm_exporter_options;
  std::string mig_config;                    // migManager.config.name, a ConfigMap
  std::string mig_default = "all-disabled";  // migManager.config.default
  std::string gpu_clients;                   // migManager.gpuClientsConfig.name
  GpuHoldersSpec gpu_holders;                // migManager.gpuHolders
  std::string vgpu_config;                   // vgpuDeviceManager.config.name
  std::string vgpu_default = "default";      // vgpuDeviceManager.config.default
  DriverManagerSpec vgpu_driver_manager;     // vgpuManager.driverManager
  std::string vgpu_kernel_module_config;     // vgpuManager.kernelModuleConfig.name
  DriverManagerSpec vfio_driver_manager;     // vfioManager.driverManager
  std::string cc_default_mode;               // ccManager.defaultMode
  CudaSpec cuda_source;
  std::map<std::string, bool> dra_gates;  // draDriver.featureGates

  // validator.<stage>.env
  EnvVars validator_driver_env;
  EnvVars validator_toolkit_env;
  EnvVars validator_cuda_env;
  EnvVars validator_plugin_env;
  EnvVars validator_vfio_pci_env;
  EnvVars validator_vgpu_manager_env;
  EnvVars validator_vgpu_devices_env;
  bool operator==(const ClusterPolicy&) const = default;
};

// From a ClusterPolicy object. kInvalid names the field, as "spec.mig.strategy: ...". A value that
// the API server's schema rejects can still be stored from before an upgrade of the CRD.
Result<ClusterPolicy> Parse(const Json& object);

// Paths below spec of known fields that are set and have no effect here
// ("driver.useNvidiaDriverCRD"), in order. Enabled sections of operands that Gantry does not have
// appear as one path ("dcgmExporter").
std::vector<std::string> UnsupportedFields(const Json& object);

}  // namespace gantry::policy
