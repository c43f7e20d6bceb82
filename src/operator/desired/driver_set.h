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

// One DaemonSet of a driver, for a ClusterPolicy or a NVIDIADriver: the names of its objects and
// its nodes. The context's policy says what runs in it.
struct DriverSetting {
  std::string account = "nvidia-driver";  // ServiceAccount, roles and bindings
  std::string name = "nvidia-driver-daemonset";
  std::string app = "nvidia-driver-daemonset";  // the label that selects the pods
  std::string component = "nvidia-driver";
  std::vector<std::string> apart = {"nvidia-driver"};  // a node has a pod of only one of these
  std::map<std::string, std::string> labels = {};      // further ones, of DaemonSet and pods
  Json nodes = Json::object();                         // node selector
  std::string kernel = {};    // of a precompiled driver; empty: it is built on the node
  std::string rhcos = {};     // version that OpenShift's toolkit builds for; empty: without it
  policy::EnvVars env = {};   // of the containers that load modules, before all others
  bool host_manager = false;  // of virtual GPUs
  std::string section = "driver.";  // the prefix of fields in messages
  std::string repo_field = "driver.repoConfig.configMapName";
  // A NVIDIADriver's settings for the digest; nullopt: from the pod alone.
  std::optional<DriverConfig> asked = {};
};

// The service account with its roles.
Objects DriverAccount(const Context& context, const DriverSetting& setting);
// The start-up probe's ConfigMap, which all drivers share.
Json DriverProbe(const Context& context, const DriverSetting& setting);
// The DaemonSet; `image` is without the system's suffix. kInvalid names the field.
Result<Json> DriverSet(const Context& context, const DriverSetting& setting,
                       const std::string& image);

}  // namespace gantry::gpu_operator
