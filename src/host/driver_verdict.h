// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

// Is there a usable NVIDIA driver on this node, whose is it, and if not, why not?
namespace gantry::host {

// The user-space part of a driver under one root. Paths are as a process in that root spells them.
struct DriverTree {
  std::string nvidia_smi;       // "/usr/bin/nvidia-smi"; empty: none
  std::string library;          // what libnvidia-ml.so.1 leads to; empty: none
  std::string library_version;  // from the library's file name; empty: the name has none
  bool operator==(const DriverTree&) const = default;
};

struct DriverNodes {
  bool control = false;   // /dev/nvidiactl
  bool uvm = false;       // /dev/nvidia-uvm
  std::vector<int> gpus;  // minors of /dev/nvidia0, /dev/nvidia1, ...
  bool operator==(const DriverNodes&) const = default;
};

// What was observed of the node, by host/driver_root.h.
struct DriverObservation {
  std::string host_root = "/";  // as a container path ("/host"): where the host is mounted
  DriverTree host;
  DriverNodes host_nodes;
  bool wsl = false;        // Windows Subsystem for Linux: the driver is Windows'
  std::string driver_dir;  // the driver container's root, as the host spells it
  DriverTree container;
  // Its .driver-ctr-ready of this boot exists, or the container that installs it would write none.
  bool container_ready = false;
  std::string container_failure;   // why it has no driver, as it reports; empty: no report
  bool container_has_dev = false;  // it has a dev directory of its own
  DriverNodes container_nodes;
  std::optional<bool> module_loaded;          // nothing: this process cannot see
  std::string module_version;                 // /proc/driver/nvidia/version
  std::vector<int> module_gpus;               // minors of the GPUs that the module drives
  std::map<std::string, int> gpus_by_driver;  // PCI GPUs of NVIDIA by kernel driver ("": none)
};

enum class DriverKind { kNone, kHost, kContainer };

struct DriverVerdict {
  DriverKind kind = DriverKind::kNone;
  std::string reason;   // one word: "HostDriver", "KernelModuleNotLoaded", ...
  std::string message;  // what was seen
  std::string remedy;   // what to do; empty if there is a driver
  std::string version;  // of the driver, if known

  // Its location, as the lines of `driver-ready` state it. "Here" is a path in an operand's
  // container.
  std::string driver_root;       // on the host: "/" or "/run/nvidia/driver"
  std::string driver_root_here;  // "/host" or "/driver-root"
  std::string dev_root;          // also of an unusable driver: where its nodes belong
  std::string dev_root_here;
  DriverTree tree;

  bool operator==(const DriverVerdict&) const = default;
};

// NVIDIA's order: a driver of the host comes before one in a container. If neither is usable, the
// reason is that of the one that exists.
DriverVerdict JudgeDriver(const DriverObservation& seen);

}  // namespace gantry::host
