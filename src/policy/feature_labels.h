// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

// Labels and raw features of node feature discovery that decide which operands a node gets.
namespace gantry::policy {

// The meaning of a label "feature.node.kubernetes.io/pci-<fields>.present". deviceLabelFields of
// NFD's configuration chooses the fields: any of class, vendor, device, subsystem_vendor and
// subsystem_device, always in this order, joined by "_".
enum class PciLabel {
  kNothing,  // another key, or a device that is no NVIDIA GPU
  kGpu,      // vendor 10de, and a display or 3D class where the class is named
  kUnclear,  // a display or 3D device whose vendor the label may not name
};
PciLabel ReadPciLabel(std::string_view key);

// Labels with a node's operating system, by which drivers are chosen.
bool IsSystemLabel(std::string_view key);

// Labels by which the operator itself decides.
bool DecidesOperands(std::string_view key);

// Whether the PCI devices of a NodeFeature's spec.features have an NVIDIA GPU; nullopt: not
// published.
std::optional<bool> HasPciGpu(const Json& spec_features);

}  // namespace gantry::policy
