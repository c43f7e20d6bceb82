// SPDX-License-Identifier: Apache-2.0
#include "operands/validator/node_status_exporter/node_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gantry::validator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// The lines that are no comments.
std::vector<std::string> Samples(const NodeStatus& status) {
  std::vector<std::string> samples;
  for (const std::string& line : Split(MetricsText(status), '\n')) {
    if (!line.empty() && !line.starts_with('#')) {
      samples.push_back(line);
    }
  }
  return samples;
}

TEST(NodeMetrics, NamesAndLabelAreNvidias) {
  NodeStatus status;
  status.node = "gpu-1";
  status.started = 1700000000;
  status.driver = host::StatusValues{};
  status.toolkit = host::StatusValues{};
  status.plugin = host::StatusValues{{"GANTRY_DEVICES", "8"}};
  status.last_checks = {{"driver-ready", "1700000100"}, {"plugin-ready", "1700000200"}};
  status.pci_devices = 8;
  EXPECT_THAT(
      Samples(status),
      ElementsAre(
          "gpu_operator_node_metrics_ready_ts_seconds{node=\"gpu-1\"} 1700000000",
          "gpu_operator_node_driver_ready{node=\"gpu-1\"} 1",
          "gpu_operator_node_toolkit_ready{node=\"gpu-1\"} 1",
          "gpu_operator_node_plugin_ready{node=\"gpu-1\"} 1",
          "gpu_operator_node_cuda_ready{node=\"gpu-1\"} 0",
          "gpu_operator_node_driver_validation{node=\"gpu-1\"} 1",
          "gpu_operator_node_driver_validation_last_success_ts_seconds{node=\"gpu-1\"} 1700000100",
          "gpu_operator_node_device_plugin_devices_total{node=\"gpu-1\"} 8",
          "gpu_operator_node_device_plugin_validation_last_success_ts_seconds{node=\"gpu-1\"} "
          "1700000200",
          "gpu_operator_nvidia_pci_devices_total{node=\"gpu-1\"} 8"));
}

TEST(NodeMetrics, WhatIsNotKnownIsMinusOne) {
  NodeStatus status;
  status.node = "n";
  EXPECT_THAT(Samples(status), Contains("gpu_operator_nvidia_pci_devices_total{node=\"n\"} -1"));
  EXPECT_THAT(Samples(status),
              Contains("gpu_operator_node_device_plugin_devices_total{node=\"n\"} 0"));
  status.plugin = host::StatusValues{};
  EXPECT_THAT(Samples(status),
              Contains("gpu_operator_node_device_plugin_devices_total{node=\"n\"} -1"));
}

TEST(NodeMetrics, ANodeThatIsToHaveNoDevicePluginMissesNoDevices) {
  NodeStatus status;
  status.node = "n";
  status.device_plugin = false;
  EXPECT_THAT(Samples(status),
              Contains("gpu_operator_node_device_plugin_devices_total{node=\"n\"} -1"));
}

}  // namespace
}  // namespace gantry::validator
