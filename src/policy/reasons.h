// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

// The reasons that one of Gantry's programs writes and another one, or a user, reads: in the label
// nvidia.com/gpu.validation, in events of nodes and in conditions. They are stable across releases,
// and listed in docs/doctor.md. Folders below policy use only the constants.
namespace gantry::reasons {

enum class Writer { kValidator, kDevicePlugin };

struct Reason {
  const char* code;
  Writer writer = Writer::kValidator;
  const char* meaning;  // after "node n1: "
  const char* remedy;   // empty: nothing is wrong
};

// Every reason below with a meaning.
std::span<const Reason> All();
// nullptr: that writer has no such reason in this release.
const Reason* Find(Writer writer, std::string_view code);

inline constexpr char kDriverPodLog[] =
    "read the log of the driver's pod there: kubectl logs -A -l "
    "app.kubernetes.io/component=nvidia-driver --prefix";
inline constexpr char kToolkitPodLog[] =
    "read the log of the container toolkit's pod there: kubectl logs -A -l "
    "app=nvidia-container-toolkit-daemonset --prefix";
inline constexpr char kPluginPodLog[] =
    "read the log of the device plugin's pod there: kubectl logs -A -l "
    "app=nvidia-device-plugin-daemonset --prefix";
inline constexpr char kNvidiaSmi[] =
    "run `nvidia-smi` on the node; the kernel log (NVRM, Xid) says more";
inline constexpr char kBlacklistNouveau[] =
    "blacklist nouveau, rebuild the initial ramdisk and restart the node";

// --- the validator: the driver ---
inline constexpr Reason kDriverMissing = {
    "DriverMissing", Writer::kValidator, "has a GPU on its PCI bus and no driver",
    "install NVIDIA's driver on the node, or set a driver image in the ClusterPolicy"};
inline constexpr Reason kDriverContainerNotReady = {"DriverContainerNotReady", Writer::kValidator,
                                                    "its driver container is not ready",
                                                    kDriverPodLog};
inline constexpr Reason kDriverNotInstalled = {
    "DriverNotInstalled", Writer::kValidator, "its driver container could not install the driver",
    "`kubectl describe node` shows the reason in an event; or read the log of the driver's pod "
    "there: kubectl logs -A -l app.kubernetes.io/component=nvidia-driver --prefix"};
inline constexpr Reason kLibraryMissing = {
    "LibraryMissing", Writer::kValidator, "its driver lacks libnvidia-ml.so.1",
    "install the driver's libraries, in the version of its kernel module"};
inline constexpr Reason kKernelModuleNotLoaded = {
    "KernelModuleNotLoaded", Writer::kValidator,
    "its driver is installed, but the kernel module is not loaded",
    "run `modprobe nvidia` there; after a kernel update install the driver for the new kernel; "
    "with Secure Boot sign the module"};
inline constexpr Reason kVersionMismatch = {
    "VersionMismatch", Writer::kValidator,
    "its kernel module and its driver libraries have different versions",
    "restart the node: the driver was updated while the old module was loaded"};
inline constexpr Reason kDeviceNodeMissing = {
    "DeviceNodeMissing", Writer::kValidator, "a device node of its GPUs is missing",
    "run `nvidia-modprobe -u -c 0` as root on the node, or enable nvidia-persistenced"};
inline constexpr Reason kGpuBoundToNouveau = {"GpuBoundToNouveau", Writer::kValidator,
                                              "nouveau holds its GPU", kBlacklistNouveau};
inline constexpr Reason kGpuBoundToVfio = {
    "GpuBoundToVfio", Writer::kValidator, "vfio-pci holds its GPU, for virtual machines",
    "bind the GPU to nvidia, or label the node nvidia.com/gpu.workload.config=vm-passthrough"};
inline constexpr Reason kDriverHangs = {"DriverHangs", Writer::kValidator,
                                        "its driver does not respond",
                                        "read its kernel log (NVRM, Xid), and restart the node"};
inline constexpr Reason kDriverFails = {"DriverFails", Writer::kValidator,
                                        "its driver returns an error", kNvidiaSmi};
inline constexpr Reason kNoGpuAnswers = {"NoGpuAnswers", Writer::kValidator,
                                         "its driver is loaded and reports no GPU", kNvidiaSmi};
inline constexpr Reason kNoGpu = {"NoGpu", Writer::kValidator, "its PCI bus has no GPU",
                                  "check that the machine detects the card"};

// --- the validator: the container toolkit ---
inline constexpr Reason kToolkitNotInstalled = {"ToolkitNotInstalled", Writer::kValidator,
                                                "the container toolkit is not installed on it",
                                                kToolkitPodLog};
inline constexpr Reason kToolkitBroken = {"ToolkitBroken", Writer::kValidator,
                                          "its container toolkit is installed and does not run",
                                          kToolkitPodLog};
inline constexpr Reason kCdiMissing = {"CdiMissing", Writer::kValidator,
                                       "has no CDI document for its GPUs", kToolkitPodLog};
inline constexpr Reason kCdiInvalid = {"CdiInvalid", Writer::kValidator,
                                       "its CDI document can't be read", kToolkitPodLog};
inline constexpr Reason kCdiStale = {"CdiStale", Writer::kValidator,
                                     "its CDI document names missing files", kToolkitPodLog};
inline constexpr Reason kRuntimeNotConfigured = {
    "RuntimeNotConfigured", Writer::kValidator,
    "its container runtime could not be configured for the NVIDIA runtimes", kToolkitPodLog};

inline constexpr Reason kRuntimeNeedsRestart = {
    "RuntimeNeedsRestart", Writer::kValidator,
    "its container runtime has not read its new configuration",
    "restart the container runtime there, or delete RUNTIME_RESTART_MODE from toolkit.env"};

// --- the validator: the device plugin and CUDA ---
inline constexpr Reason kNoGpuAllocatable = {
    "NoGpuAllocatable", Writer::kValidator, "has a GPU and a driver, but its kubelet offers no GPU",
    kPluginPodLog};
inline constexpr Reason kCdiHookMissing = {
    "CdiHookMissing", Writer::kValidator, "its CDI document calls a program that it does not have",
    "install NVIDIA's Container Toolkit there, or set toolkit.enabled=true in the ClusterPolicy"};
inline constexpr Reason kKubeletDoesNotAnswer = {
    "KubeletDoesNotAnswer", Writer::kValidator,
    "its kubelet's pod-resources socket does not respond", "check that the kubelet runs there"};
inline constexpr Reason kCudaHangs = {"CudaHangs", Writer::kValidator, "CUDA does not start on it",
                                      kNvidiaSmi};
inline constexpr Reason kCudaFails = {"CudaFails", Writer::kValidator,
                                      "CUDA returns an error on it", kNvidiaSmi};
inline constexpr Reason kCudaVersionMismatch = {
    "CudaVersionMismatch", Writer::kValidator, "its driver and its libcuda have different versions",
    "restart the node to load the kernel module of the installed driver"};
inline constexpr Reason kFabricManagerNotReady = {
    "FabricManagerNotReady", Writer::kValidator, "its NVSwitch system is not initialised",
    "start nvidia-fabricmanager there, in the driver's version"};

// --- the validator: modules of a driver container, and nodes for virtual machines ---
inline constexpr Reason kModuleNotLoaded = {"ModuleNotLoaded", Writer::kValidator,
                                            "a kernel module of its driver container is not loaded",
                                            kDriverPodLog};
inline constexpr Reason kMofedNotReady = {"MofedNotReady", Writer::kValidator,
                                          "RDMA is enabled, but its Mellanox driver is missing",
                                          "install MOFED on the node, or the network operator"};
inline constexpr Reason kGpuNotBoundToVfio = {
    "GpuNotBoundToVfio", Writer::kValidator, "is for passthrough, but vfio-pci does not hold a GPU",
    "read the log of the VFIO manager's pod there"};
inline constexpr Reason kVgpuManagerFails = {"VgpuManagerFails", Writer::kValidator,
                                             "nvidia-smi of its vGPU manager fails",
                                             "read the log of the vGPU manager's pod there"};
inline constexpr Reason kVirtualFunctionsMissing = {
    "VirtualFunctionsMissing", Writer::kValidator,
    "some virtual functions of a GPU are not enabled",
    "run `sriov-manage -e ALL` in the vGPU manager's container"};
inline constexpr Reason kNotDivisible = {"NotDivisible", Writer::kValidator,
                                         "no GPU offers virtual functions or mediated devices",
                                         "check that the card and the driver support vGPU"};
inline constexpr Reason kNoVgpuDevices = {"NoVgpuDevices", Writer::kValidator, "has no virtual GPU",
                                          "read the log of the vGPU device manager's pod there"};
inline constexpr Reason kCcManagerNotReady = {
    "CcManagerNotReady", Writer::kValidator, "its confidential computing manager is not ready",
    "read the log of the confidential computing manager's pod there"};

// --- the device plugin's events of its node ---
inline constexpr Reason kGpuUnreadable = {"GPUUnreadable", Writer::kDevicePlugin,
                                          "the driver can't read a GPU", kNvidiaSmi};
inline constexpr Reason kNvmlNotUsable = {"NVMLNotUsable", Writer::kDevicePlugin,
                                          "the device plugin can't use the driver", kNvidiaSmi};
inline constexpr Reason kGpuHealthy = {"GPUHealthy", Writer::kDevicePlugin,
                                       "a GPU is back in service", ""};
inline constexpr Reason kGpuSuspect = {"GPUSuspect", Writer::kDevicePlugin,
                                       "a GPU reported a fault and still responds", kNvidiaSmi};
inline constexpr Reason kGpuUnhealthy = {"GPUUnhealthy", Writer::kDevicePlugin,
                                         "a GPU is out of service", kNvidiaSmi};
inline constexpr Reason kInvalidDevicePluginConfig = {
    "InvalidDevicePluginConfig", Writer::kDevicePlugin, "the device plugin rejects its settings",
    "correct the ConfigMap, devicePlugin.env or mig.strategy"};
inline constexpr Reason kDevicePluginConfigApplied = {
    "DevicePluginConfigApplied", Writer::kDevicePlugin, "the device plugin uses new settings", ""};
inline constexpr Reason kCdiDocumentNotWritten = {"CDIDocumentNotWritten", Writer::kDevicePlugin,
                                                  "the device plugin can't write its CDI document",
                                                  kPluginPodLog};
inline constexpr Reason kGpuNotOffered = {"GPUNotOffered", Writer::kDevicePlugin,
                                          "the device plugin does not offer a GPU", kPluginPodLog};

// --- reasons of conditions that the operator writes and the doctor reads ---
inline constexpr char kOperandNotReady[] = "OperandNotReady";
inline constexpr char kNfdLabelsMissing[] = "NFDLabelsMissing";
inline constexpr char kDriverNotReady[] = "DriverNotReady";
inline constexpr char kDefinitionOutdated[] = "DefinitionOutdated";
inline constexpr char kTaintNotTolerated[] = "TaintNotTolerated";

}  // namespace gantry::reasons
