// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace gantry::gpu_operator {

// All settings that decide which driver a node gets, under NVIDIA's names, which are part of the
// hash. Empty and false ones do not count.
struct DriverConfig {
  using Variables = std::vector<std::pair<std::string, std::string>>;
  struct VolumeOf {
    std::string name;
    std::string config_map;
    std::string secret;
    std::string host_path;
  };
  struct MountOf {
    std::string name;
    std::string path;
    std::string sub_path;
    bool read_only = false;
  };

  std::string driver_image;
  std::string driver_manager_image;
  std::string peermem_image;
  std::string gds_image;
  std::string gdrcopy_image;
  std::string dtk_image;  // of OpenShift's driver toolkit
  std::string driver_type;
  std::string kernel_module_type;
  std::vector<std::string> driver_command;
  std::vector<std::string> driver_args;
  Variables driver_env;
  Variables manager_env;
  Variables gds_env;
  Variables gdrcopy_env;
  std::string secret_env_source;
  bool gpu_direct_rdma = false;
  bool use_host_mofed = false;
  bool gds = false;
  bool gdrcopy = false;
  std::string licensing_config;
  std::string virtual_topology_config;
  std::string kernel_module_config;
  std::string repo_config;
  std::string cert_config;
  bool use_precompiled = false;
  std::string kernel_version;
  std::string openshift_version;
  bool dtk = false;
  std::string rhcos_version;
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
  std::string trusted_ca_config_map;
  std::vector<VolumeOf> additional_volumes;
  std::vector<MountOf> additional_volume_mounts;
  std::string host_root;
};

// The value of DRIVER_CONFIG_DIGEST: if it is unchanged, the driver manager leaves a node's driver
// loaded. FNV-1a, 32 bits, in decimal, as NVIDIA's operator computes it, so that its drivers are
// recognised.
std::string DigestOf(const DriverConfig& config);

// The settings in a driver's DaemonSet (core/v1 PodSpec, without the digest).
DriverConfig DriverConfigOf(const Json& pod_spec);
// The same for a NVIDIADriver: NVIDIA's operator hashes its request (`asked`), and of the pod only
// the images, and the volumes that not every driver has.
DriverConfig DriverConfigOf(const Json& pod_spec, DriverConfig asked);

}  // namespace gantry::gpu_operator
