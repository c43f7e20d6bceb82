// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// Processes that hold devices: with a device node open, each with its pod.
namespace gantry::host {

// A process as /proc shows it, unparsed: its name, the targets of its descriptors and its cgroup.
struct ProcessText {
  pid_t pid = 0;
  std::string name;                      // /proc/<pid>/comm
  std::string cgroup;                    // /proc/<pid>/cgroup
  std::vector<std::string> descriptors;  // targets of /proc/<pid>/fd/*
};

struct Holder {
  pid_t pid = 0;
  std::string name;
  std::string device;   // the first one: "/dev/nvidia0"
  std::string pod_uid;  // empty: not in a pod
  bool operator==(const Holder&) const = default;
};

// The name of the device that a descriptor's target is; empty: none of those that are asked for.
using DeviceOf = std::function<std::string(const std::string& target)>;

// The processes with such a device open, by pid, each with the first one.
std::vector<Holder> HoldersAmong(const std::vector<ProcessText>& processes,
                                 const DeviceOf& device_of);

// "/dev/nvidia0" of any path to a device node of NVIDIA's driver.
std::string NvidiaDeviceOf(const std::string& target);

// "process 812 (python, /dev/nvidia0, pod 0a1b...), ..."; after the fifth, how many more.
// `pod_names` maps a pod's uid to its name; empty: unknown.
struct PodName {
  std::string uid;
  std::string name;
};
std::string DescribeHolders(const std::vector<Holder>& holders,
                            const std::vector<PodName>& pod_names);

// All processes under `proc` ("/proc"). One that ended meanwhile is left out. Needs the host's PID
// namespace to see all of them.
Result<std::vector<ProcessText>> ReadProcesses(const std::string& proc);

}  // namespace gantry::host
