// SPDX-License-Identifier: Apache-2.0
// How is a node's status converted to metrics? From the status files alone: these have the results
// of all checks, so nothing is checked twice, and no privileges are needed.
#include "operands/validator/node_status_exporter/node_metrics.h"

#include "base/metric_text.h"
#include "base/text.h"
#include "operands/validator/verdict.h"
#include "policy/names.h"

namespace gantry::validator {
namespace {

std::string Escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      text += '\\';
    }
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

long long NumberOf(const host::StatusValues& values, std::string_view name, long long fallback) {
  const auto found = values.find(std::string(name));
  return found == values.end() ? fallback : ParseInt(found->second).value_or(fallback);
}

// Allocatable devices: 0 while a plugin is missing, -1 if there should be none, or if another
// validator wrote the file without a number.
long long DevicesOf(const NodeStatus& status) {
  return !status.device_plugin ? -1
         : status.plugin       ? NumberOf(*status.plugin, kDevicesLine, -1)
                               : 0;
}

}  // namespace

std::string MetricsText(const NodeStatus& status) {
  std::string text;
  const std::string label = Escaped(status.node);
  const auto gauge = [&](std::string_view name, std::string_view help, long long value) {
    text +=
        MetricHeading(name, "gauge", help) + format("{}{{node=\"{}\"}} {}\n", name, label, value);
  };
  gauge("gpu_operator_node_metrics_ready_ts_seconds", "Unix time at which these metrics began",
        status.started);
  gauge("gpu_operator_node_driver_ready", "1 if the node's driver works", status.driver ? 1 : 0);
  gauge("gpu_operator_node_toolkit_ready", "1 if the container toolkit is installed and whole",
        status.toolkit ? 1 : 0);
  gauge("gpu_operator_node_plugin_ready", "1 if the kubelet has GPUs to give",
        status.plugin ? 1 : 0);
  gauge("gpu_operator_node_cuda_ready", "1 if CUDA starts", status.cuda ? 1 : 0);
  gauge("gpu_operator_node_driver_validation", "1 if the last check of the driver succeeded",
        status.driver ? 1 : 0);
  gauge("gpu_operator_node_driver_validation_last_success_ts_seconds",
        "Unix time of the last check of the driver that succeeded, 0 if none did",
        NumberOf(status.last_checks, names::kDriverReady, 0));
  gauge("gpu_operator_node_device_plugin_devices_total",
        "GPUs, MIG devices and shares of them that the kubelet can give, -1 if that is not known",
        DevicesOf(status));
  gauge("gpu_operator_node_device_plugin_validation_last_success_ts_seconds",
        "Unix time of the last check of the device plugin that succeeded, 0 if none did",
        NumberOf(status.last_checks, names::kPluginReady, 0));
  gauge("gpu_operator_nvidia_pci_devices_total",
        "NVIDIA GPUs on the PCI bus, -1 if that is not known", status.pci_devices.value_or(-1));
  return text;
}

}  // namespace gantry::validator
