// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "host/status_files.h"

// Metrics of a node's GPU stack, under the names of NVIDIA's node status exporter.
namespace gantry::validator {

// The present state of the status directory and the PCI bus.
struct NodeStatus {
  std::string node;
  long long started = 0;                     // Unix time of the exporter's start
  bool device_plugin = true;                 // whether the node should have one
  std::optional<host::StatusValues> driver;  // lines of a status file; nothing: absent
  std::optional<host::StatusValues> toolkit;
  std::optional<host::StatusValues> plugin;
  std::optional<host::StatusValues> cuda;
  // File name -> Unix time of its last successful check (names::kLastChecks).
  host::StatusValues last_checks;
  std::optional<int> pci_devices;  // NVIDIA GPUs on the bus; nothing: unreadable
};

// Prometheus' text format 0.0.4.
std::string MetricsText(const NodeStatus& status);

}  // namespace gantry::validator
