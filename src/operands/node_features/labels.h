// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host/pci.h"
#include "operands/node_features/local_features.h"

namespace gantry::node_features {

struct PciDevice {
  host::PciFunction function;
  bool sriov_capable = false;
};

// What a node tells of itself, as texts of its files where a file is the fact.
struct Facts {
  std::vector<PciDevice> pci;
  std::string kernel_release;  // "6.1.0-18-amd64"
  std::string os_release;      // os-release(5)
  std::string cpuinfo;         // /proc/cpuinfo
  std::vector<LocalFile> local_files;
};

struct LabelOptions {
  // Beginnings of the four hexadecimal digits of a PCI class whose devices are labelled.
  std::vector<std::string> pci_classes = {"02", "0200", "0207", "0300", "0302"};
  // What a PCI label names: any of class, vendor, device.
  std::vector<std::string> pci_fields = {"vendor"};
};

struct Labelled {
  LabelMap labels;  // keys with prefix, keys and values valid for Kubernetes
  std::optional<WallTime> next_expiry;
  std::vector<std::string> warnings;
};

// The node labels of node feature discovery that a GPU operator relies on.
Labelled NodeLabels(const Facts& facts, const LabelOptions& options, WallTime now);

}  // namespace gantry::node_features
