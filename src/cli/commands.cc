// SPDX-License-Identifier: Apache-2.0
// The one table of commands. To add one, add its folder, its header here, and its line.
#include "cli/commands.h"

#include <array>

#include "agent/condition_writer.h"
#include "doctor/doctor.h"
#include "doctor/support_bundle.h"
#include "operands/container_toolkit/container_toolkit.h"
#include "operands/container_toolkit/inventory.h"
#include "operands/cuda_toolkit/cuda_toolkit.h"
#include "operands/device_plugin/device_plugin.h"
#include "operands/device_plugin/mps_control_daemon/mps_control_daemon.h"
#include "operands/driver/driver.h"
#include "operands/driver/driver_manager/driver_manager.h"
#include "operands/gpu_features/gpu_features.h"
#include "operands/metrics_exporter/metrics_exporter.h"
#include "operands/node_features/node_features.h"
#include "operands/validator/await_status.h"
#include "operands/validator/validator.h"
#include "operator/cleanup_gpuclusters.h"
#include "operator/manage_crds.h"
#include "operator/operator.h"
#include "operator/uninstall.h"

namespace gantry::cli {
namespace {

constexpr std::array<std::string_view, 1> kToolkitNames = {"nvidia-toolkit"};
constexpr std::array<std::string_view, 1> kDriverNames = {"driver"};

constexpr std::array<Command, 21> kCommands = {{
    {"doctor",
     {},
     "what is wrong with a cluster's GPUs, and what to do about it",
     doctor::RunDoctor},
    {"status", {}, "a cluster's GPU nodes and operands at a glance", doctor::RunStatus},
    {"support-bundle",
     {},
     "one file with what a report of a fault needs",
     doctor::RunSupportBundle},
    {"gpu-operator",
     {},
     "brings a cluster to the state that its ClusterPolicy asks for",
     gpu_operator::RunOperator},
    {"uninstall",
     {},
     "takes everything of the operator from a cluster and its nodes",
     gpu_operator::RunUninstall},
    {"manage-crds",
     {},
     "brings the operator's custom resource definitions to a cluster, or takes them away",
     gpu_operator::RunManageCrds},
    {"cleanup-gpuclusters",
     {},
     "takes a GPUCluster that NVIDIA's operator has left from a cluster",
     gpu_operator::RunCleanupGpuClusters},
    {"nfd-worker",
     {},
     "publishes what this node is: PCI devices, kernel, system",
     node_features::RunNodeFeatures},
    {"nvidia-driver", kDriverNames,
     "installs this node's driver: takes or compiles its kernel modules, and loads them",
     driver::RunDriver},
    {"driver-manager",
     {},
     "takes an older driver off this node, before another comes",
     driver::RunDriverManager},
    {"nvidia-ctk-installer", kToolkitNames, "lets this node's containers have GPUs",
     container_toolkit::RunContainerToolkit},
    {"gpu-inventory",
     {},
     "prints what the driver says of this node's GPUs",
     container_toolkit::RunGpuInventory},
    {"host-cleanup",
     {},
     "leaves this node as it was before the operator came",
     container_toolkit::RunHostCleanup},
    {"nvidia-device-plugin",
     {},
     "offers this node's GPUs to its kubelet",
     device_plugin::RunDevicePlugin},
    {"mps-control-daemon",
     {},
     "lets several processes at once on each GPU that this node shares by MPS",
     device_plugin::RunMpsControlDaemon},
    {"cuda-toolkit",
     {},
     "offers this node's CUDA toolkits to containers",
     cuda_toolkit::RunCudaToolkit},
    {"node-condition", {}, "says on a Node whether its GPUs are well", agent::RunNodeCondition},
    {"gpu-feature-discovery",
     {},
     "publishes the labels of this node's GPUs",
     gpu_features::RunGpuFeatureDiscovery},
    {"dcgm-exporter",
     {},
     "serves the metrics of this node's GPUs",
     metrics_exporter::RunMetricsExporter},
    {"nvidia-validator",
     {},
     "is this node's driver, toolkit, CUDA and device plugin whole?",
     validator::RunValidator},
    {"await-status",
     {},
     "waits until this node is as far as status files say",
     validator::RunAwaitStatus},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace gantry::cli
