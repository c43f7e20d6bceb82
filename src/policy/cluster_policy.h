// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace gantry::policy {

// repository, image, version, imagePullPolicy and imagePullSecrets of one operand, as written.
struct ImageSpec {
  std::string repository;
  std::string image;
  std::string version;
  std::string pull_policy;
  std::vector<std::string> pull_secrets;
};

using EnvVars = std::vector<std::pair<std::string, std::string>>;

// What the sections of all operands have alike.
struct OperandSpec {
  bool enabled = false;
  ImageSpec image;
  std::vector<std::string> args;
  EnvVars env;
  bool host_network = false;
  Json resources;  // {"limits", "requests"} or null
};

// nvidia.com/v1 ClusterPolicy, spec: what is acted on, with NVIDIA's defaults filled in.
struct ClusterPolicy {
  std::string runtime_class = "nvidia";

  std::map<std::string, std::string> pod_labels;       // daemonsets.labels
  std::map<std::string, std::string> pod_annotations;  // daemonsets.annotations
  Json tolerations;                                    // daemonsets.tolerations, never empty
  std::string priority_class = "system-node-critical";
  Json pod_security_context;  // or null
  bool update_on_delete = false;
  std::string max_unavailable;  // daemonsets.rollingUpdate.maxUnavailable: "2", "10%" or empty

  std::string host_root = "/";
  std::string driver_install_dir = "/run/nvidia/driver";
  std::string kubelet_root = "/var/lib/kubelet";

  bool cdi = true;
  bool nri = false;
  std::string mig_strategy;  // none, single, mixed, or empty
  bool gds = false;
  bool gdrcopy = false;
  bool sandbox = false;
  std::string sandbox_mode = "kubevirt";
  std::string default_workload = "container";

  OperandSpec driver;
  bool driver_crd = false;  // driver.useNvidiaDriverCRD
  OperandSpec toolkit;
  std::string install_dir = "/usr/local/nvidia";
  OperandSpec device_plugin;
  std::string config_name;     // devicePlugin.config.name, a ConfigMap
  std::string config_default;  // devicePlugin.config.default, a key of it
  std::string mps_root = "/run/nvidia/mps";
  OperandSpec gfd;
  OperandSpec node_status_exporter;
  OperandSpec validator;        // always enabled
  EnvVars validator_stage_env;  // validator.{driver,toolkit,cuda,plugin}.env, in that order

  // The sections whose `enabled` is or defaults to true, by their name in spec.
  std::map<std::string, bool, std::less<>> enabled;
};

// From a ClusterPolicy object. kInvalid names the field, as "spec.mig.strategy: ...". What the API
// server's schema refuses can still arrive here from before an upgrade of the definition.
Result<ClusterPolicy> Parse(const Json& object);

// Paths below spec that are set to something that would make a difference, are known, and are not
// acted on ("driver.upgradePolicy.autoUpgrade"), in order. Sections of operands that are enabled
// but not there yet appear as a whole ("dcgmExporter").
std::vector<std::string> UnsupportedFields(const Json& object);

}  // namespace gantry::policy
