// SPDX-License-Identifier: Apache-2.0
// Why does a pod with GPUs end again and again? From the end of its log; the words are those of
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
    "take an image with an older CUDA, or bring a newer driver to the nodes "
    "(nvidia.com/cuda.runtime-version.full says what theirs can)";
// CUDA's words where it finds no driver's library, too.
constexpr std::string_view kInsufficient = "driver version is insufficient for CUDA runtime";
constexpr char kNewerOrGiven[] =
    "take an image with an older CUDA, or bring a newer driver to the nodes "
    "(nvidia.com/cuda.runtime-version.full says what theirs can); if theirs can, it was not given "
    "to the container: look whether CDI is switched on in the container runtime";
constexpr char kStartAnew[] =
    "delete the pod; if it happens again after `systemctl daemon-reload` on the node, its devices "
    "do not come by CDI: look at cdi.enabled and the runtime class";

constexpr char kBlind[] = "was given a GPU and does not see it";

constexpr char kFabric[] = "FabricManagerNotReady";
constexpr char kNoFabric[] = "finds the NVSwitch system of its node not initialised";
constexpr char kStartFabric[] =
    "start nvidia-fabricmanager on the node, in the driver's version, then delete the pod";

// The shell's words for a command that is not there, and its exit code for it.
constexpr long long kNoCommand = 127;
constexpr char kNoSmi[] = "was given a GPU, and nvidia-smi did not come with it";
constexpr char kGiveSmi[] =
    "look whether CDI is switched on in the node's container runtime, which runtime the pod gets "
    "(runtimeClassName, the default one), and whether its NVIDIA_DRIVER_CAPABILITIES have utility";
// nvidia-smi's own.
constexpr long long kNothingFound = 6;

constexpr char kNoNvml[] = "was given a GPU, and libnvidia-ml.so.1 did not come with it";

constexpr char kFaulty[] = "GpuMemoryFaulty";
constexpr char kMemoryFault[] = "met a fault of its GPU's memory that can't be corrected (ECC)";
constexpr char kExchange[] =
    "cordon the node, look at `nvidia-smi -q -d ECC,ROW_REMAPPER` and its kernel log (Xid 48, 63, "
    "94, 95) there, and reset the GPU or have it exchanged";

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
     "its image has no code for the GPU that it was given",
     "take an image that is built for it (nvidia.com/gpu.compute.major and .minor of the node say "
     "what it is), or select nodes with another GPU (nvidia.com/gpu.product)"},
    {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer",
     "lost the way to its GPU while it ran", kStartAnew},
    {kInsufficient, "DriverTooOld", "finds no driver that can run its CUDA", kNewerOrGiven},
    {"The NVIDIA driver on your system is too old", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"provided PTX was compiled with an unsupported toolchain", "DriverTooOld",
     "its image needs a newer driver than the node has", kNewerDriver},
    {"forward compatibility was attempted on non supported HW", "DriverTooOld",
     "its image brings CUDA compatibility libraries that this GPU can't use", kNewerDriver},
    {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch",
     "has the libraries of another driver than the node's kernel module is of",
     "delete the pod, so that its containers get those of today; if it happens again, restart the "
     "node"},
    {"unsupported display driver / cuda driver combination", "VersionMismatch",
     "has a libcuda that does not go with the node's driver",
     "take CUDA's compatibility libraries out of its image (LD_LIBRARY_PATH), or delete the pod if "
     "the node's driver was changed since it started"},
    {"system not yet initialized", kFabric, kNoFabric, kStartFabric},
    {"cudaErrorSystemNotReady", kFabric, kNoFabric, kStartFabric},
    {"CUDA_ERROR_SYSTEM_NOT_READY", kFabric, kNoFabric, kStartFabric},
    {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted",
     "may not open the device nodes of its GPU",
     "let it run in the group that they have on the node (securityContext.supplementalGroups), or "
     "open them (NVreg_DeviceFileMode of the kernel module)"},
    // Last: what makes it so is above.
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
    "was given a GPU, and finds no driver that can run its CUDA, on a node that has one",
    "look whether CDI is switched on in the node's container runtime, or which runtime the pod "
    "gets (runtimeClassName, the default one); if its CUDA is newer than the node's "
    "nvidia.com/cuda.runtime-version.full, take an older one or a newer driver"};

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
    return std::nullopt;  // nobody sees it there, and the node's own finding says why
  }
  const std::string object =
      format("pod {}/{}", container.space, container.pod) +
      (meaning->code == kFaulty && !container.node.empty() ? " on " + container.node : "");
  if (meaning->code != "GpuMemoryExhausted") {
    return Problem(std::string(meaning->code), object, std::string(meaning->message),
                   std::string(meaning->remedy));
  }
  const std::string sharing = node == nullptr ? "" : ValueOf(*node, names::kGpuSharingStrategy);
  if (sharing == "mps") {
    return Problem("GpuMemoryExhausted", object,
                   "needs more memory than its share of a GPU, which MPS limits",
                   "run fewer pods on a GPU (replicas), or give it a smaller task");
  }
  if (sharing == "time-slicing") {
    return Problem(
        "GpuMemoryExhausted", object,
        "finds no free memory on a GPU that it shares by time-slicing, where nothing "
        "limits what its neighbours take",
        "run fewer pods on a GPU (replicas), or share by MPS or MIG, which limit memory");
  }
  return Problem("GpuMemoryExhausted", object, "needs more memory than its GPU has",
                 "give it a GPU with more memory, or a smaller task");
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
