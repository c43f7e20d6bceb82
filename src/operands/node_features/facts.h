// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/pci.h"
#include "nfd/features.h"
#include "operands/node_features/cpu_leaves.h"
#include "operands/node_features/cpu_registers.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

using nfd::Elements;

struct PciDevice {
  host::PciFunction function;
  bool sriov_capable = false;
  Elements more;  // subsystem_vendor, subsystem_device, sriov_totalvfs, ... as in sysfs
};

// Facts on a node, as the contents of its files if possible.
struct Facts {
  std::vector<PciDevice> pci;
  std::string kernel_release;          // "6.1.0-18-amd64"
  std::string os_release;              // os-release(5)
  std::string cpuinfo;                 // /proc/cpuinfo
  std::optional<std::string> modules;  // /proc/modules; nothing: the kernel has none
  std::optional<std::string> builtin;  // modules.builtin of the kernel
  std::string swaps;                   // /proc/swaps
  CpuidLeaves leaves;                  // empty: of another machine, or no x86
  std::string hypervisor;              // its name, CPUID's up to twelve letters
  CpuidRegisters frequencies;          // leaf 0x16
  std::vector<CpuidRegisters> sgx;     // leaf 0x12, the valid sub-leaves from 2 on
  ResourceRegisters resources;
  std::string node_name;
  std::optional<Elements> kernel_config;  // option without CONFIG_ -> value; nothing: not found
  // Existing small files of sysfs, by path below /sys, trimmed.
  Elements files;
  std::set<std::string, std::less<>> governors;         // of all processors' frequencies
  std::set<std::string, std::less<>> base_frequencies;  // of all processors, in kHz
  std::set<std::string, std::less<>> packages;          // of all processors: the sockets
  Elements huge_pages;          // their number, by "hugepages-2048kB"; empty: unreadable
  bool multithreading = false;  // some core runs several threads
  bool kvm = false;
  int numa_nodes = 0;
  std::vector<Elements> nvdimms;
  std::vector<Elements> block_devices;
  std::vector<Elements> network_devices;  // with hardware
  std::vector<Elements> virtual_network_devices;
  std::vector<Elements> usb_devices;
  std::vector<LocalFile> local_files;
  std::vector<LocalFile> custom_files;  // of custom.d, by their paths below it
  std::vector<std::string> warnings;    // left out files, one sentence each
};

}  // namespace gantry::node_features
