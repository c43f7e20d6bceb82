// SPDX-License-Identifier: Apache-2.0
// Why does a pod with GPUs fail repeatedly? From the end of its log; the messages are those of
// CUDA, NVML, nvidia-smi, frameworks and shells.
#include "doctor/workload_findings.h"

#include <array>
#include <optional>
#include <span>

#include "base/text.h"
#include "doctor/meaning.h"
#include "doctor/start_findings.h"
#include "policy/names.h"

namespace gantry::doctor {
namespace {

constexpr char kNewerDriver[] =
    "use an image with an older CUDA, or install a newer driver on the nodes "
    "(nvidia.com/cuda.runtime-version.full is the CUDA that a node supports)";
// Also CUDA's message if it finds no driver library.
constexpr std::string_view kInsufficient = "driver version is insufficient for CUDA runtime";
constexpr char kNewerOrGiven[] =
    "use an image with an older CUDA, or install a newer driver on the nodes "
    "(nvidia.com/cuda.runtime-version.full is the CUDA that a node supports); if the node supports "
    "it, check that CDI is enabled in the container runtime";
constexpr char kStartAnew[] =
    "delete the pod; if it happens again after `systemctl daemon-reload` on the node, the pod does "
    "not use CDI: check cdi.enabled and the runtime class";

constexpr char kBlind[] = "was given a GPU, but can't see it";

constexpr char kFabric[] = "FabricManagerNotReady";
constexpr char kNoFabric[] = "can't use the NVSwitch system of its node, which is not initialised";
constexpr char kStartFabric[] =
    "start nvidia-fabricmanager on the node, in the driver's version, then delete the pod";

// The shell's message for a missing command, and its exit code for it.
constexpr long long kNoCommand = 127;
constexpr char kNoSmi[] = "was given a GPU, but has no nvidia-smi";
constexpr char kGiveSmi[] =
    "check that CDI is enabled in the node's container runtime, which runtime the pod uses "
    "(runtimeClassName, the default one), and that its NVIDIA_DRIVER_CAPABILITIES include utility";
// nvidia-smi's own message.
constexpr long long kNothingFound = 6;

constexpr char kNoNvml[] = "was given a GPU, but has no libnvidia-ml.so.1";

constexpr char kFaulty[] = "GpuMemoryFaulty";
constexpr char kMemoryFault[] = "hit an uncorrectable memory error of its GPU (ECC)";
constexpr char kExchange[] =
    "cordon the node, run `nvidia-smi -q -d ECC,ROW_REMAPPER` and read the kernel log (Xid 48, 63, "
    "94, 95) there, and reset or replace the GPU";

constexpr std::array kWorkloadLog = std::to_array<Meaning>({
    {"CUDA out of memory", "GpuMemoryExhausted", "", ""},
    {"CUDA_ERROR_OUT_OF_MEMORY", "GpuMemoryExhausted", "", ""},
    {"CUDA error: out of memory", "GpuMemoryExhausted", "", ""},
    {"cudaErrorMemoryAllocation", "GpuMemoryExhausted", "", ""},
    {"CUDA failure 2: out of memory", "GpuMemoryExhausted", "", ""},
    {"cudaMalloc failed: out of memory", "GpuMemoryExhausted", "", ""},
    {"CUBLAS_STATUS_ALLOC_FAILED", "GpuMemoryExhausted", "", ""},
    {"RESOURCE_EXHAUSTED: Out of memory", "GpuMemoryExhausted", "", ""},
    {"OOM when allocating tensor", "GpuMemoryExhausted", "", ""},
    {"less than desired GPU memory utilization", "GpuMemoryExhausted", "", ""},
    {"No available memory for the cache blocks", "GpuMemoryExhausted", "", ""},
    {"(error code out of memory)", "GpuMemoryExhausted", "", ""},
    {"Cuda failure 'out of memory'", "GpuMemoryExhausted", "", ""},
    {"Cuda failure 2 'out of memory'", "GpuMemoryExhausted", "", ""},
    {"OutOfMemoryError: Out of memory allocating", "GpuMemoryExhausted", "", ""},
    {"CUDA driver error: out of memory", "GpuMemoryExhausted", "", ""},
    {"cuda runtime error (2) : out of memory", "GpuMemoryExhausted", "", ""},
    {"CUDA Error: out of memory", "GpuMemoryExhausted", "", ""},
    {"out_of_memory: CUDA error", "GpuMemoryExhausted", "", ""},
    {"Cuda Runtime (out of memory)", "GpuMemoryExhausted", "", ""},
    {"uncorrectable ECC error encountered", kFaulty, kMemoryFault, kExchange},
    {"CUDA_ERROR_ECC_UNCORRECTABLE", kFaulty, kMemoryFault, kExchange},
    {"cudaErrorECCUncorrectable", kFaulty, kMemoryFault, kExchange},
    {"no kernel image is available for execution on the device", "ImageNotForGpu",
     "its image has no code for its GPU",
     "use an image that is built for it (the node's labels nvidia.com/gpu.compute.major and "
     ".minor), or select nodes with another GPU (nvidia.com/gpu.product)"},
    {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer",
     "lost access to its GPU while it ran", kStartAnew},
    {kInsufficient, "DriverTooOld", "finds no driver that supports its CUDA", kNewerOrGiven},
    {"The NVIDIA driver on your system is too old", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"provided PTX was compiled with an unsupported toolchain", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"forward compatibility was attempted on non supported HW", "DriverTooOld",
     "its image brings CUDA compatibility libraries that this GPU can't use", kNewerDriver},
    {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch",
     "has driver libraries of another version than the node's kernel module",
     "delete the pod, so that its containers get the current libraries; if it happens again, "
     "restart the node"},
    {"unsupported display driver / cuda driver combination", "VersionMismatch",
     "has a libcuda that does not match the node's driver",
     "remove CUDA's compatibility libraries from its image (LD_LIBRARY_PATH), or delete the pod if "
     "the node's driver was upgraded since it started"},
    {"system not yet initialized", kFabric, kNoFabric, kStartFabric},
    {"cudaErrorSystemNotReady", kFabric, kNoFabric, kStartFabric},
    {"CUDA_ERROR_SYSTEM_NOT_READY", kFabric, kNoFabric, kStartFabric},
    {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted",
     "has no permission to open the device nodes of its GPU",
     "add their group on the node to securityContext.supplementalGroups, or change their mode "
     "(NVreg_DeviceFileMode of the kernel module)"},
    // Last: its cause is above.
    {"Found no NVIDIA driver on your system", kNotInContainer, kBlind, kGiveByRuntime},
    {"libcuda.so.1: cannot open shared object file", kNotInContainer, kBlind, kGiveByRuntime},
    {"couldn't find libnvidia-ml.so", kNotInContainer, kBlind, kGiveByRuntime},
    {"couldn't communicate with the NVIDIA driver", kNotInContainer, kBlind, kGiveByRuntime},
    {"no CUDA-capable device is detected", kNotInContainer, kBlind, kGiveByRuntime},
    {"No CUDA GPUs are available", kNotInContainer, kBlind, kGiveByRuntime},
    {"CUDA unknown error - this may be due to an incorrectly set up environment", kNotInContainer,
     kBlind, kGiveByRuntime},
    {"Failed to infer device type", kNotInContainer, kBlind, kGiveByRuntime},
    {"libnvidia-ml.so.1: cannot open shared object file", kNotInContainer, kNoNvml, kGiveSmi},
    {"NVML Shared Library Not Found", kNotInContainer, kNoNvml, kGiveSmi},
    {"No devices were found", kNotInContainer, kBlind, kGiveByRuntime, kNothingFound},
    {"No devices found.", kNotInContainer, kBlind, kGiveByRuntime, kNothingFound},
    // dash and busybox, bash.
    {"nvidia-smi: not found", kNotInContainer, kNoSmi, kGiveSmi, kNoCommand},
    {"nvidia-smi: command not found", kNotInContainer, kNoSmi, kGiveSmi, kNoCommand},
});

constexpr Meaning kNotFoundHere = {
    kInsufficient, kNotInContainer,
    "was given a GPU, but finds no driver that supports its CUDA, although the node has one",
    "check that CDI is enabled in the node's container runtime, or which runtime the pod uses "
    "(runtimeClassName, the default one); if its CUDA is newer than the node's "
    "nvidia.com/cuda.runtime-version.full, use an older CUDA or a newer driver"};

std::optional<Finding> OfWorkload(const ClusterFacts& cluster, const ContainerFacts& container) {
  const Meaning* meaning = Find(kWorkloadLog, container.log, container.exit_code);
  if (meaning == nullptr) {
    return std::nullopt;
  }
  const NodeFacts* node = NodeNamed(cluster, container.node);
  const std::string word = node == nullptr ? "" : ValueOf(*node, names::kGpuValidation);
  const bool ready = word == names::kValidationReady;
  if (ready && meaning->words == kInsufficient) {
    meaning = &kNotFoundHere;
  }
  const bool of_node = meaning->code == kNotInContainer || meaning->code == kFabric;
  if (of_node && !word.empty() && !ready) {
    return std::nullopt;  // the pod cannot see it, and the node's own finding says why
  }
  const std::string object =
      format("pod {}/{}", container.ns, container.pod) +
      (meaning->code == kFaulty && !container.node.empty() ? " on " + container.node : "");
  if (meaning->code != "GpuMemoryExhausted") {
    return Problem(std::string(meaning->code), object, std::string(meaning->message),
                   std::string(meaning->remedy));
  }
  const std::string sharing = node == nullptr ? "" : ValueOf(*node, names::kGpuSharingStrategy);
  if (sharing == "mps") {
    return Problem("GpuMemoryExhausted", object,
                   "needs more memory than its share of a GPU, limited by MPS",
                   "run fewer pods on a GPU (replicas), or use less memory");
  }
  if (sharing == "time-slicing") {
    return Problem(
        "GpuMemoryExhausted", object,
        "finds no free memory on a GPU that is shared by time-slicing, which does not limit memory",
        "run fewer pods on a GPU (replicas), or share by MPS or MIG, which limit memory");
  }
  return Problem("GpuMemoryExhausted", object, "needs more memory than its GPU has",
                 "use a GPU with more memory, or less memory");
}

}  // namespace

bool SaysWhy(const ClusterFacts& cluster, const ContainerFacts& container) {
  return OfWorkload(cluster, container).has_value();
}

void ExamineWorkloadContainers(const ClusterFacts& cluster, std::vector<Finding>& findings) {
  for (const ContainerFacts& container : cluster.workload_containers) {
    if (std::optional<Finding> finding = OfWorkload(cluster, container)) {
      findings.push_back(*std::move(finding));
    }
  }
}

}  // namespace gantry::doctor
