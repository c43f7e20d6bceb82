// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/desired/context.h"
#include "operator/desired/driver_digest.h"

namespace gantry::gpu_operator {

// One DaemonSet of a driver, whoever asks for it: what its objects are called and for which nodes
// it is. What runs in it says the context's policy.
struct DriverSetting {
  std::string account = "nvidia-driver";  // ServiceAccount, roles and bindings
  std::string name = "nvidia-driver-daemonset";
  std::string app = "nvidia-driver-daemonset";  // the label that selects the pods
  std::string component = "nvidia-driver";
  std::vector<std::string> apart = {"nvidia-driver"};  // a node has a pod of one of these only
  std::map<std::string, std::string> labels = {};      // further ones, of DaemonSet and pods
  Json nodes = Json::object();                         // node selector
  std::string kernel = {};    // of a precompiled driver; empty: it is built on the node
  std::string rhcos = {};     // version that OpenShift's toolkit builds for; empty: without it
  policy::EnvVars env = {};   // of the containers that load modules, before all others
  bool host_manager = false;  // of virtual GPUs
  std::string section = "driver.";  // in front of fields, in messages
  std::string repo_field = "driver.repoConfig.configMapName";
  // What the digest is made of, of a NVIDIADriver; nullopt: of the pod alone.
  std::optional<DriverConfig> asked = {};
};

// The account with its roles.
Objects DriverAccount(const Context& context, const DriverSetting& setting);
// The start-up probe's ConfigMap, which all drivers share.
Json DriverProbe(const Context& context, const DriverSetting& setting);
// The DaemonSet; `image` is without the system's suffix. kInvalid names the field.
Result<Json> DriverSet(const Context& context, const DriverSetting& setting,
                       const std::string& image);

}  // namespace gantry::gpu_operator
