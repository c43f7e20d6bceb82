// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "agent/status_flags.h"
#include "base/error.h"
#include "policy/names.h"

namespace gantry::dra_driver {

// The program, and the source of its events.
inline constexpr char kProgram[] = "gpu-kubelet-plugin";

// Flags and environment; a variable counts if its flag is not given.
struct Flags : agent::StatusFlags {
  std::string node_name;
  std::string kubeconfig;  // empty: the pod's service account
  std::string cdi_root;
  // Of the driver on the host, and where that is mounted here; unless the program waits for the
  // validator's file, which names both.
  std::string driver_root;
  std::string container_driver_root;
  std::string host_root;       // where the host's root is mounted here, for /sys and /proc
  std::string cdi_hook;        // on the host; empty: a copy in the driver's folder
  std::string registry;        // the kubelet's plugins_registry
  std::string plugins;         // the kubelet's plugins
  std::string pod_resources;   // the kubelet's socket
  std::string device_plugins;  // the folder of device plugins' sockets
  std::string consumable_shares;
  std::string feature_gates;
  int healthcheck_port = -1;
  std::string http_endpoint;
  std::string ignored_xids;  // a comma list of numbers: these change no health
};

// Reads them; nothing after --help. kInvalid names the flag; kUnsupported a feature gate that is
// asked for and not served.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

// FEATURE_GATES, "A=true,B=false". kInvalid: no such gate; kUnsupported: it is not served.
Status CheckFeatureGates(const std::string& gates);

}  // namespace gantry::dra_driver
