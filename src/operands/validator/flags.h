// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/names.h"

namespace gantry::validator {

inline constexpr char kProgram[] = "nvidia-validator";

// Flags and environment of NVIDIA's nvidia-validator, and a few of Gantry's. Those that a check
// without pods does not need (image, workload) are accepted and ignored.
struct Flags {
  std::string component;  // empty: every stage, until stopped
  // Without component: only these, for a node with virtual machines.
  std::vector<std::string> sandbox;
  bool with_wait = false;
  bool cleanup_all = false;
  int sleep_seconds = 5;  // with_wait: until inputs without events are checked again
  std::string output_dir = names::kValidationsDir;
  std::string host_root = "/";                                // as the host spells it
  std::string host_root_here = "/host";                       // where it is mounted here
  std::string driver_install_dir = names::kDriverInstallDir;  // on the host
  // A driver container of the operator installs that root, and reports when it is ready.
  bool with_driver_container = true;
  bool skip_gpu_init = false;                            // trust the files, do not ask the driver
  bool no_dev_char = false;                              // make no links in dev_char_here
  std::string dev_char_here = "/host-dev-char";          // the host's /dev/char, mounted here
  bool cdi_enabled = true;                               // the toolkit must write a CDI document
  std::string toolkit_root = names::kToolkitInstallDir;  // on the host
  bool with_toolkit = true;                              // without component: check this stage too
  bool with_plugin = true;                               // the same
  bool rdma = false;                                     // GPU_DIRECT_RDMA_ENABLED
  bool host_mofed = false;                               // the host's own MOFED driver is used
  std::string kubelet_root = names::kKubeletRoot;        // on the host
  std::string pod_resources_dir = "/var/lib/kubelet/pod-resources";  // here

  std::string node_name;
  std::string ns;
  std::string kubeconfig;     // empty: as kube::LoadConfig finds it
  bool publish = false;       // publish the verdict in a NodeFeature
  std::string workload = "";  // default for a node without the label; empty is vm-passthrough
  bool device_plugin = true;  // component metrics: whether the node should have one
  int metrics_port = 0;       // component metrics
  std::string sys_here = "/host/sys";  // component metrics: the host's sysfs, mounted here

  // Set if a validator started this process for a call that may hang.
  std::string probe;  // "nvml", "cuda", "plugin", "nodes", "publish"
  std::string probe_library;
  std::string probe_root;     // has the dev directory to use or to fill, and the program
  std::string probe_program;  // NVIDIA's nvidia-smi in that root
  std::string probe_socket;
  std::string probe_reason;  // "publish": "ready", or why not
  std::string probe_message;
};

// Reads them; nothing after --help. kInvalid names the flag.
Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv);

}  // namespace gantry::validator
