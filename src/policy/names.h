// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// Every name that users or other programs rely on, once: labels, annotations, environment
// variables, resources, object names, status files. They are NVIDIA's and NFD's own, so that a
// cluster can switch without changing a manifest. An environment variable that only one program
// reads is at its flag instead.
namespace gantry::names {

// --- API groups ----------------------------------------------------------------------------------
inline constexpr char kNvidiaGroup[] = "nvidia.com";
inline constexpr char kClusterPolicyApiVersion[] = "nvidia.com/v1";
inline constexpr char kGpuNvidiaGroup[] = "gpu.nvidia.com";
inline constexpr char kNfdGroup[] = "nfd.k8s-sigs.io";
inline constexpr char kMonitoringGroup[] = "monitoring.coreos.com";
inline constexpr char kSecurityGroup[] = "security.openshift.io";

// --- resources -----------------------------------------------------------------------------------
inline constexpr char kGpuResource[] = "nvidia.com/gpu";
// A MIG device under the strategy `mixed`: "nvidia.com/mig-1g.10gb".
inline constexpr char kMigResourcePrefix[] = "nvidia.com/mig-";
inline constexpr char kSharedSuffix[] = ".shared";
// GPUs or MIG devices, shared ones too.
inline bool IsGpuResource(std::string_view resource) {
  return resource.starts_with(kGpuResource) || resource.starts_with(kMigResourcePrefix);
}

// --- node labels read (written by node feature discovery)
// ------------------------------------------
inline constexpr char kFeaturePrefix[] = "feature.node.kubernetes.io/";
inline constexpr char kPciNvidia[] = "feature.node.kubernetes.io/pci-10de.present";
inline constexpr char kPciNvidia3d[] = "feature.node.kubernetes.io/pci-0302_10de.present";
inline constexpr char kPciNvidiaVga[] = "feature.node.kubernetes.io/pci-0300_10de.present";
inline constexpr char kSystemId[] = "feature.node.kubernetes.io/system-os_release.ID";
inline constexpr char kSystemVersion[] = "feature.node.kubernetes.io/system-os_release.VERSION_ID";
// From RHCOS, OpenShift's system.
inline constexpr char kRhcosVersion[] =
    "feature.node.kubernetes.io/system-os_release.OSTREE_VERSION";
inline constexpr char kSystemMajor[] =
    "feature.node.kubernetes.io/system-os_release.VERSION_ID.major";
inline constexpr char kKernelVersion[] = "feature.node.kubernetes.io/kernel-version.full";

// --- node labels written by the operator
// -----------------------------------------------------------
inline constexpr char kGpuPresent[] = "nvidia.com/gpu.present";
// nvidia.com/gpu.deploy.<operand> = "true": the node selector of that operand's DaemonSet.
inline constexpr char kDeployPrefix[] = "nvidia.com/gpu.deploy.";
inline constexpr char kDeployValidator[] = "nvidia.com/gpu.deploy.operator-validator";
// The value of such a label, or a part of it, while a driver manager pauses that operand.
inline constexpr char kDeployPaused[] = "paused-for-driver-upgrade";
// On the driver's label, by its manager: the host has a driver of its own.
inline constexpr char kDeployPreInstalled[] = "pre-installed";
// "false" removes every deploy label from the node (a switch for one node).
inline constexpr char kDeployOperands[] = "nvidia.com/gpu.deploy.operands";
// Which operands a node gets if sandboxed workloads are enabled: container, vm-passthrough,
// vm-vgpu.
inline constexpr char kWorkloadConfig[] = "nvidia.com/gpu.workload.config";
inline constexpr char kGpuProduct[] = "nvidia.com/gpu.product";
inline constexpr char kVgpuHostDriver[] = "nvidia.com/vgpu.host-driver-version";
inline constexpr char kDriverUpgradeState[] = "nvidia.com/gpu-driver-upgrade-state";
// The NVIDIADriver whose driver the node gets.
inline constexpr char kDriverOwner[] = "nvidia.com/gpu-operator.driver.owner";
// The system that the driver of a ClusterPolicy is made for on the node: "ubuntu22.04". It is kept
// while node feature discovery does not run, because the driver's DaemonSet selects by it.
inline constexpr char kDriverSystem[] = "nvidia.com/gpu-operator.driver.system";
// "true": the node's driver is never upgraded by the operator (a switch for one node).
inline constexpr char kDriverUpgradeSkip[] = "nvidia.com/gpu-driver-upgrade.skip";
inline constexpr char kMigConfig[] = "nvidia.com/mig.config";
// The MIG manager's state: pending, rebooting, success, failed.
inline constexpr char kMigConfigState[] = "nvidia.com/mig.config.state";
inline constexpr char kMigFailed[] = "failed";
// Annotation on the MIG manager's NodeFeature: the state in a sentence.
inline constexpr char kMigMessage[] = "nvidia.com/mig.config-message";
inline constexpr char kMigCapable[] = "nvidia.com/mig.capable";
inline constexpr char kCcCapable[] = "nvidia.com/cc.capable";
// The validator's result: "ready", or the reason why not, in one word.
inline constexpr char kGpuValidation[] = "nvidia.com/gpu.validation";
inline constexpr char kValidationReady[] = "ready";
// Annotation on the validator's NodeFeature: the same in a sentence.
inline constexpr char kValidationMessage[] = "nvidia.com/gpu.validation-message";
inline constexpr char kDevicePluginConfig[] = "nvidia.com/device-plugin.config";
// Annotation on a Node: which of its labels came from which NodeFeature object, as
// "<object>:<key>,<key>;<object>:<key>".
inline constexpr char kFeatureLabelsAnnotation[] = "nvidia.com/gpu-operator.feature-labels";
// Annotation on a Node: the key of the start-up taint that the operator put on it.
inline constexpr char kStartupTaint[] = "nvidia.com/gpu-operator.startup-taint";
// Annotations on a Node about its driver's upgrade, NVIDIA's own; times are Unix seconds.
inline constexpr char kUpgradePrefix[] = "nvidia.com/gpu-driver-upgrade";
// "true": the driver manager leaves the drain to the operator.
inline constexpr char kUpgradeEnabled[] = "nvidia.com/gpu-driver-upgrade-enabled";
// Not empty: the driver waits until the node is drained; removed then.
inline constexpr char kUpgradeSafeLoad[] =
    "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";
// "true": the node was cordoned before its upgrade, and stays cordoned.
inline constexpr char kUpgradeWasCordoned[] =
    "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable";
inline constexpr char kUpgradeJobsSince[] =
    "nvidia.com/gpu-driver-upgrade-wait-for-pod-completion-start-time";
inline constexpr char kUpgradeValidationSince[] =
    "nvidia.com/gpu-driver-upgrade-validation-start-time";
// "true": a user requests an upgrade of this node.
inline constexpr char kUpgradeRequested[] = "nvidia.com/gpu-driver-upgrade-requested";
// The operator's own: "true" if it cordoned the node, and "<state> <Unix seconds> <reason>" of the
// upgrade's step.
inline constexpr char kUpgradeCordon[] = "nvidia.com/gpu-operator.driver-upgrade-cordon";
inline constexpr char kUpgradeStep[] = "nvidia.com/gpu-operator.driver-upgrade-step";
// The driver manager's own: "true" if it cordoned the node.
inline constexpr char kManagerCordon[] = "nvidia.com/gpu-operator.driver-manager-cordon";
// Annotation on a Node, NFD's own: the keys of the labels from node features, sorted,
// comma-separated, without feature.node.kubernetes.io/. The operator writes it as an NFD master
// does, so that either can take over from the other.
inline constexpr char kNfdFeatureLabelsAnnotation[] = "nfd.node.kubernetes.io/feature-labels";
// The same for what NodeFeatureRules write besides labels: keys, or taints as "key=value:Effect",
// comma-separated.
inline constexpr char kNfdFeatureAnnotations[] = "nfd.node.kubernetes.io/feature-annotations";
inline constexpr char kNfdExtendedResources[] = "nfd.node.kubernetes.io/extended-resources";
inline constexpr char kNfdTaints[] = "nfd.node.kubernetes.io/taints";
// Annotation on a Node by NFD masters before 0.16, whose workers wrote no NodeFeature.
inline constexpr char kNfdMasterVersion[] = "nfd.node.kubernetes.io/master.version";
// Label on a NodeFeature: the node it describes.
inline constexpr char kNfdNodeName[] = "nfd.node.kubernetes.io/node-name";
inline constexpr char kNfdWorkerVersion[] = "nfd.node.kubernetes.io/worker.version";

// --- node labels about its GPUs (written by GPU feature discovery)
// -----------------------------------------------------------
inline constexpr char kGfdTimestamp[] = "nvidia.com/gfd.timestamp";
inline constexpr char kCudaDriverMajor[] = "nvidia.com/cuda.driver.major";  // deprecated
inline constexpr char kCudaDriverMinor[] = "nvidia.com/cuda.driver.minor";  // deprecated
inline constexpr char kCudaDriverRev[] = "nvidia.com/cuda.driver.rev";      // deprecated
inline constexpr char kCudaDriverVersionMajor[] = "nvidia.com/cuda.driver-version.major";
inline constexpr char kCudaDriverVersionMinor[] = "nvidia.com/cuda.driver-version.minor";
inline constexpr char kCudaDriverVersionRevision[] = "nvidia.com/cuda.driver-version.revision";
inline constexpr char kCudaDriverVersionFull[] = "nvidia.com/cuda.driver-version.full";
inline constexpr char kCudaRuntimeMajor[] = "nvidia.com/cuda.runtime.major";  // deprecated
inline constexpr char kCudaRuntimeMinor[] = "nvidia.com/cuda.runtime.minor";  // deprecated
inline constexpr char kCudaRuntimeVersionMajor[] = "nvidia.com/cuda.runtime-version.major";
inline constexpr char kCudaRuntimeVersionMinor[] = "nvidia.com/cuda.runtime-version.minor";
inline constexpr char kCudaRuntimeVersionFull[] = "nvidia.com/cuda.runtime-version.full";
inline constexpr char kGpuMachine[] = "nvidia.com/gpu.machine";
// The prefix of every label of a GPU resource: "nvidia.com/gpu.product".
inline constexpr char kGpuLabelPrefix[] = "nvidia.com/gpu.";
inline constexpr char kGpuCount[] = "nvidia.com/gpu.count";
inline constexpr char kGpuReplicas[] = "nvidia.com/gpu.replicas";
inline constexpr char kGpuSharingStrategy[] = "nvidia.com/gpu.sharing-strategy";
inline constexpr char kGpuMemory[] = "nvidia.com/gpu.memory";
inline constexpr char kGpuFamily[] = "nvidia.com/gpu.family";
inline constexpr char kGpuComputeMajor[] = "nvidia.com/gpu.compute.major";
inline constexpr char kGpuComputeMinor[] = "nvidia.com/gpu.compute.minor";
inline constexpr char kGpuMode[] = "nvidia.com/gpu.mode";
inline constexpr char kGpuClique[] = "nvidia.com/gpu.clique";
inline constexpr char kMigStrategy[] = "nvidia.com/mig.strategy";
inline constexpr char kMpsCapable[] = "nvidia.com/mps.capable";
inline constexpr char kVgpuPresent[] = "nvidia.com/vgpu.present";
inline constexpr char kVgpuHostDriverBranch[] = "nvidia.com/vgpu.host-driver-branch";

// --- labels of Device objects --------------------------------------------------------------------
inline constexpr char kDeviceNode[] = "gpu.nvidia.com/node";
inline constexpr char kDeviceUuid[] = "nvidia.com/gpu.uuid";

// Condition of a Node: whether every GPU of it is in service.
inline constexpr char kGpuHealthyCondition[] = "GPUHealthy";

// --- objects
// -----------------------------------------------------------------------------------------
inline constexpr char kLastAppliedHash[] = "nvidia.com/last-applied-hash";
// The operator's own annotations on a DaemonSet, both a hash of its rendering for the policy: on
// one that it wrote, and on one of NVIDIA's operator that it found equal and left unchanged.
inline constexpr char kRendering[] = "nvidia.com/gpu-operator.rendering";
inline constexpr char kAdopted[] = "nvidia.com/gpu-operator.adopted";
// Annotation on a DaemonSet whose pods differ from its template only in the node selector: they are
// not out of date.
inline constexpr char kNarrowed[] = "nvidia.com/gpu-operator.narrowed";
// Which labels and annotations of an object are the operator's own, as JSON: they are removed when
// the policy no longer requests them; those of other writers are kept.
inline constexpr char kWrittenKeys[] = "nvidia.com/gpu-operator.written-keys";
// Labels of DaemonSets and pods of drivers on OpenShift.
inline constexpr char kDriverToolkit[] = "openshift.driver-toolkit";
inline constexpr char kDriverToolkitRhcos[] = "openshift.driver-toolkit.rhcos";
inline constexpr char kRhcosImageMissing[] = "openshift.driver-toolkit.rhcos-image-missing";
// A ConfigMap that drivers on OpenShift mount, and its label: OpenShift writes the cluster's
// certificates into it.
inline constexpr char kTrustedCa[] = "gpu-operator-trusted-ca";
inline constexpr char kInjectTrustedCa[] = "config.openshift.io/inject-trusted-cabundle";
inline constexpr char kDrainSkip[] = "nvidia.com/gpu-driver-upgrade-drain.skip";
// NVIDIA's driver for dynamic resource allocation, as named in claims.
inline constexpr char kGpuDraDriver[] = "gpu.nvidia.com";
inline constexpr char kOperatorLease[] = "53822513.nvidia.com";
inline constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";
inline constexpr char kManagedByGantry[] = "gpu-operator";
// The operand of an object, by the operand's state.
inline constexpr char kOperandState[] = "nvidia.com/gpu-operator.state";
// On a driver's DaemonSets and pods.
inline constexpr char kComponent[] = "app.kubernetes.io/component";
inline constexpr char kDriverComponent[] = "nvidia-driver";
// The NodeFeature objects of GPU feature discovery, the validator and the MIG manager, before the
// node's name.
inline constexpr char kGpuFeature[] = "nvidia-features-for-";
inline constexpr char kValidationFeature[] = "nvidia-validation-for-";
inline constexpr char kMigFeature[] = "nvidia-mig-for-";
// Field manager of Gantry's applies and patches.
inline constexpr char kFieldManager[] = "gpu-operator";
// The source of the operator's events.
inline constexpr char kEventSource[] = "nvidia-gpu-operator";

// --- status files between the operands of a node
// ------------------------------------------------------
inline constexpr char kValidationsDir[] = "/run/nvidia/validations";
inline constexpr char kDriverReady[] = "driver-ready";
inline constexpr char kToolkitReady[] = "toolkit-ready";
inline constexpr char kCudaReady[] = "cuda-ready";
inline constexpr char kPluginReady[] = "plugin-ready";
inline constexpr char kDriverCtrReady[] = ".driver-ctr-ready";
// Why there is no driver, written by Gantry's driver container: MESSAGE=...
inline constexpr char kDriverCtrFailed[] = ".driver-ctr-failed";
// Why the container runtime lacks the toolkit's configuration, written by Gantry's toolkit:
// MESSAGE=..., and SERVES=true while the earlier configuration still works.
inline constexpr char kToolkitFailed[] = ".toolkit-failed";
// Where the toolkit writes its CDI document, if not to the default path: MANAGEMENT=<path>; empty:
// it writes none.
inline constexpr char kToolkitCdi[] = ".toolkit-cdi";
inline constexpr char kVfioPciReady[] = "vfio-pci-ready";
inline constexpr char kVgpuManagerReady[] = "vgpu-manager-ready";
inline constexpr char kHostVgpuManagerReady[] = "host-vgpu-manager-ready";
inline constexpr char kVgpuDevicesReady[] = "vgpu-devices-ready";
// The workload of a node with virtual machines, as one word.
inline constexpr char kWorkloadType[] = "workload-type";
// The earlier MIG layout while the GPUs are changed.
inline constexpr char kMigChange[] = ".mig-change.json";
// File name -> Unix time of its last successful check.
inline constexpr char kLastChecks[] = ".last-checks";

// --- environment of containers
// ------------------------------------------------------------------------
inline constexpr char kVisibleDevices[] = "NVIDIA_VISIBLE_DEVICES";
inline constexpr char kImexChannels[] = "NVIDIA_IMEX_CHANNELS";
inline constexpr char kMpsPipeDirectory[] = "CUDA_MPS_PIPE_DIRECTORY";
inline constexpr char kDriverCapabilities[] = "NVIDIA_DRIVER_CAPABILITIES";
inline constexpr char kNodeName[] = "NODE_NAME";
inline constexpr char kOperatorNamespace[] = "OPERATOR_NAMESPACE";
inline constexpr char kDriverConfigDigest[] = "DRIVER_CONFIG_DIGEST";

// --- host paths
// ---------------------------------------------------------------------------------------
// What the metrics exporter has counted, until the node boots.
inline constexpr char kExporterState[] = "/run/nvidia/metrics-exporter";
// In that folder: where `gantry dcgmi` asks the exporter.
inline constexpr char kExporterSocket[] = "dcgmi.sock";
inline constexpr char kDriverInstallDir[] = "/run/nvidia/driver";
// Modules that a driver container compiled, and the digest of the settings it loaded them with.
inline constexpr char kDriverCacheDir[] = "/run/nvidia/driver-cache";
inline constexpr char kDriverState[] = "/run/nvidia/nvidia-driver.state";
inline constexpr char kFeaturesDir[] = "/etc/kubernetes/node-feature-discovery/features.d";
inline constexpr char kCustomRulesDir[] = "/etc/kubernetes/node-feature-discovery/custom.d";
// CUDA toolkits: a folder for each copy below versions/, and links cuda-<release> to them.
inline constexpr char kCudaRoot[] = "/var/lib/nvidia/cuda";
inline constexpr char kToolkitInstallDir[] = "/usr/local/nvidia";
inline constexpr char kKubeletRoot[] = "/var/lib/kubelet";
inline constexpr char kDevicePluginDir[] = "/var/lib/kubelet/device-plugins";

// --- CDI
// ----------------------------------------------------------------------------------------------
inline constexpr char kCdiDir[] = "/var/run/cdi";
inline constexpr char kDevicePluginCdiVendor[] = "k8s.device-plugin.nvidia.com";
inline constexpr char kDevicePluginCdiKind[] = "k8s.device-plugin.nvidia.com/gpu";
inline constexpr char kManagementCdiKind[] = "management.nvidia.com/gpu";
// CUDA toolkits of a node, one device for each release ("12.4").
inline constexpr char kCudaCdiKind[] = "nvidia.com/cuda";
// Its device that every container with a GPU gets: the release that the policy names.
inline constexpr char kCudaDefaultDevice[] = "default";

}  // namespace gantry::names
