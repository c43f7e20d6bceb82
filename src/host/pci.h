// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace gantry::host {

inline constexpr int kNvidiaVendor = 0x10de;

// A function on the PCI bus, as sysfs shows it (Documentation/PCI/sysfs-pci.rst).
struct PciFunction {
  std::string address;            // "0000:3b:00.0"
  int vendor = 0;                 // 0x10de
  int device = 0;                 // 0x1eb8
  int class_code = 0;             // 24 bits: base class, sub-class, interface (0x030200)
  int numa_node = -1;             // -1: none
  std::string driver;             // "nvidia", "vfio-pci"; empty: none is bound
  bool virtual_function = false;  // SR-IOV: it has a physical function
  int iommu_group = -1;           // -1: none. Other after a reboot
  bool operator==(const PciFunction&) const = default;
};

// VGA (0300), 3D (0302) or other (0380): base class 03.
[[nodiscard]] bool IsDisplayController(int class_code);
// A GPU is a display controller.
[[nodiscard]] bool IsNvidiaGpu(const PciFunction& function);

// The functions under `sys` ("/sys", "/host/sys"), sorted by address. A function whose files cannot
// be read (it was just unplugged) is left out. Empty without a PCI bus.
Result<std::vector<PciFunction>> ListPci(const std::string& sys);

// The PCIe root complex that a function is below, "pci0000:3a"; empty: sysfs does not show one.
std::string PcieRoot(const std::string& sys, const std::string& address);

}  // namespace gantry::host
