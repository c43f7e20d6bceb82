// SPDX-License-Identifier: Apache-2.0
// Which commands does `gantry` have? To add one, add its folder, its header here, and its line.
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
#include "operands/dra_driver/dra_driver.h"
#include "operands/driver/driver.h"
#include "operands/driver/driver_manager/driver_manager.h"
#include "operands/gpu_features/gpu_features.h"
#include "operands/metrics_exporter/dcgmi/dcgmi.h"
#include "operands/metrics_exporter/metrics_exporter.h"
#include "operands/mig_manager/mig_manager.h"
#include "operands/mig_manager/parted/parted.h"
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
constexpr std::array<std::string_view, 1> kMigManagerNames = {"mig-manager"};

constexpr std::array<Command, 25> kCommands = {{
    {"doctor",
     {},
     "reports what is wrong with a cluster's GPUs, and what to do",
     doctor::RunDoctor},
    {"status", {}, "prints a cluster's GPU nodes and operands", doctor::RunStatus},
    {"support-bundle",
     {},
     "writes one archive with what a bug report needs",
     doctor::RunSupportBundle},
    {"gpu-operator", {}, "reconciles a cluster with its ClusterPolicy", gpu_operator::RunOperator},
    {"uninstall",
     {},
     "deletes the operator's objects from a cluster and cleans its nodes",
     gpu_operator::RunUninstall},
    {"manage-crds",
     {},
     "applies or deletes the operator's custom resource definitions",
     gpu_operator::RunManageCrds},
    {"cleanup-gpuclusters",
     {},
     "deletes the GPUCluster that NVIDIA's operator left in a cluster",
     gpu_operator::RunCleanupGpuClusters},
    {"nfd-worker",
     {},
     "publishes this node's features: PCI devices, kernel, operating system",
     node_features::RunNodeFeatures},
    {"nvidia-driver", kDriverNames,
     "installs this node's driver: compiles or unpacks its kernel modules and loads them",
     driver::RunDriver},
    {"driver-manager",
     {},
     "unloads this node's old driver before a new one is installed",
     driver::RunDriverManager},
    {"nvidia-ctk-installer", kToolkitNames, "configures this node's container runtime for GPUs",
     container_toolkit::RunContainerToolkit},
    {"gpu-inventory",
     {},
     "prints what the driver reports about this node's GPUs",
     container_toolkit::RunGpuInventory},
    {"host-cleanup",
     {},
     "restores this node's files and container runtime at the uninstall",
     container_toolkit::RunHostCleanup},
    {"nvidia-device-plugin",
     {},
     "registers this node's GPUs with its kubelet",
     device_plugin::RunDevicePlugin},
    {"gpu-kubelet-plugin",
     {},
     "offers this node's GPUs to resource claims (dynamic resource allocation)",
     dra_driver::RunDraDriver},
    {"mps-control-daemon",
     {},
     "runs the MPS control daemons of the GPUs that this node shares",
     device_plugin::RunMpsControlDaemon},
    {"cuda-toolkit",
     {},
     "makes this node's CUDA toolkits available to containers",
     cuda_toolkit::RunCudaToolkit},
    {"node-condition",
     {},
     "sets the condition of a Node that reports its GPUs' health",
     agent::RunNodeCondition},
    {"gpu-feature-discovery",
     {},
     "publishes the labels of this node's GPUs",
     gpu_features::RunGpuFeatureDiscovery},
    {"dcgm-exporter",
     {},
     "serves the metrics of this node's GPUs",
     metrics_exporter::RunMetricsExporter},
    {"dcgmi",
     {},
     "asks this node's exporter as NVIDIA's dcgmi asks DCGM: discovery, dmon, health",
     dcgmi::RunDcgmi},
    {"nvidia-mig-manager", kMigManagerNames,
     "divides this node's GPUs by MIG as its Node's label says", mig_manager::RunMigManager},
    {"nvidia-mig-parted",
     {},
     "divides this node's GPUs by MIG, or prints how they are divided",
     mig_parted::RunMigParted},
    {"nvidia-validator",
     {},
     "validates this node's driver, toolkit, CUDA and device plugin",
     validator::RunValidator},
    {"await-status", {}, "waits for status files of this node", validator::RunAwaitStatus},
}};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace gantry::cli
