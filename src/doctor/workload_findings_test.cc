// SPDX-License-Identifier: Apache-2.0
#include "doctor/workload_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/testing/containers.h"

namespace gantry::doctor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using WorkloadFindings = ContainerTest;

TEST_F(WorkloadFindings, PodsWithGpusThatEnd) {
  struct Case {
    const char* log;
    const char* code;
  };
  for (const auto& [log, code] : std::initializer_list<Case>{
           {"RuntimeError: CUDA out of memory. Tried to allocate", "GpuMemoryExhausted"},
           {"CUDA error: out of memory", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Unknown Error", "GpuLostInContainer"},
           {"CUDA driver version is insufficient for CUDA runtime version", "DriverTooOld"},
           {"The NVIDIA driver on your system is too old (found version 11040)", "DriverTooOld"},
           {"the provided PTX was compiled with an unsupported toolchain.", "DriverTooOld"},
           {"ncclUnhandledCudaError: CUDA failure 2: out of memory", "GpuMemoryExhausted"},
           {"ggml: cudaMalloc failed: out of memory", "GpuMemoryExhausted"},
           {"RESOURCE_EXHAUSTED: Out of memory while trying to allocate", "GpuMemoryExhausted"},
           {"OOM when allocating tensor with shape[1]", "GpuMemoryExhausted"},
           {"CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "GpuMemoryExhausted"},
           {"Failed to initialize NVML: Driver/library version mismatch", "VersionMismatch"},
           {"Failed to initialize NVML: Insufficient Permissions", "GpuNotPermitted"},
           {"ValueError: Free memory on device (3.2/22.06 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 19.85 GiB)",
            "GpuMemoryExhausted"},
           {"RuntimeError: Found no NVIDIA driver on your system.", "GpuNotInContainer"},
           {"OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
            "GpuNotInContainer"},
           {"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
            "GpuNotInContainer"},
           {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "GpuNotInContainer"},
           {"cudaErrorNoDevice: no CUDA-capable device is detected", "GpuNotInContainer"},
           {"RuntimeError: No CUDA GPUs are available", "GpuNotInContainer"},
           {"CUDA unknown error - this may be due to an incorrectly set up environment, e.g.",
            "GpuNotInContainer"},
           {"RuntimeError: Failed to infer device type", "GpuNotInContainer"},
           {"Error 802: system not yet initialized (Triggered internally)",
            "FabricManagerNotReady"},
           {"CUDA error: system not yet initialized", "FabricManagerNotReady"},
           {"cuInit: CUDA_ERROR_SYSTEM_NOT_READY", "FabricManagerNotReady"},
           {"Error 803: system has unsupported display driver / cuda driver combination",
            "VersionMismatch"},
           {"Failed to allocate device vector A (error code out of memory)!", "GpuMemoryExhausted"},
           {"NCCL WARN Cuda failure 2 'out of memory'", "GpuMemoryExhausted"},
           {"NCCL WARN Cuda failure 'out of memory'", "GpuMemoryExhausted"},
           {"ValueError: No available memory for the cache blocks.", "GpuMemoryExhausted"},
           {"system not yet initialized", "FabricManagerNotReady"},
           {"code=802(cudaErrorSystemNotReady)", "FabricManagerNotReady"},
           {"pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found", "GpuNotInContainer"},
           {"OSError: libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            "GpuNotInContainer"},
           {"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 6,442,450,944 bytes",
            "GpuMemoryExhausted"},
           {"CUDA driver error: out of memory", "GpuMemoryExhausted"},
           {"cuda runtime error (2) : out of memory at THCStorage.cu:58", "GpuMemoryExhausted"},
           {"darknet: CUDA Error: out of memory", "GpuMemoryExhausted"},
           {"std::bad_alloc: out_of_memory: CUDA error at: rmm", "GpuMemoryExhausted"},
           {"[defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)",
            "GpuMemoryExhausted"},
           {"RuntimeError: CUDA error: uncorrectable ECC error encountered", "GpuMemoryFaulty"},
           {"cuCtxSynchronize: CUDA_ERROR_ECC_UNCORRECTABLE", "GpuMemoryFaulty"},
           {"code=214(cudaErrorECCUncorrectable)", "GpuMemoryFaulty"},
           {"CUDA error: no kernel image is available for execution on the device",
            "ImageNotForGpu"},
           // A warning, and the cause.
           {"NVML Shared Library Not Found\nRuntimeError: CUDA out of memory.",
            "GpuMemoryExhausted"},
           {"No devices were found", nullptr},
           {"sh: 1: nvidia-smi: not found", nullptr},
           {"ValueError: wrong shape", nullptr},
           {"out of memory", nullptr},
           {"", nullptr}}) {
    const auto findings = Workload(Crashing("train", log));
    if (code == nullptr) {
      EXPECT_THAT(findings, IsEmpty()) << log;
    } else {
      EXPECT_THAT(findings, ElementsAre(Field(&Finding::code, code))) << log;
    }
  }
}

TEST_F(WorkloadFindings, AGpuWhoseMemoryFails) {
  EXPECT_THAT(Workload(Crashing("train", "uncorrectable ECC error encountered")),
              ElementsAre(AllOf(Field(&Finding::object, "pod gpu-operator/p on n1"),
                                Field(&Finding::remedy, HasSubstr("cordon the node")))));
}

TEST_F(WorkloadFindings, WhetherALogSaysWhy) {
  EXPECT_TRUE(SaysWhy(cluster_, Crashing("train", "CUDA out of memory")));
  EXPECT_FALSE(SaysWhy(cluster_, Crashing("train", "ValueError")));
  EXPECT_FALSE(SaysWhy(cluster_, Crashing("train", "")));
}

// Scripts may ask nvidia-smi in passing: it counts if the container ended by its answer.
TEST_F(WorkloadFindings, PodsWithGpusThatEndByNvidiaSmi) {
  struct Case {
    const char* log;
    long long exit_code;
  };
  for (const auto& [log, exit_code] :
       std::initializer_list<Case>{{"sh: 1: nvidia-smi: not found", 127},
                                   {"sh: nvidia-smi: not found", 127},
                                   {"bash: line 1: nvidia-smi: command not found", 127},
                                   {"No devices were found", 6},
                                   {"No devices found.", 6}}) {
    ContainerFacts container = Crashing("train", log);
    container.exit_code = exit_code;
    EXPECT_THAT(Workload(container), ElementsAre(Field(&Finding::code, "GpuNotInContainer")))
        << log;
    container.exit_code = 1;
    EXPECT_THAT(Workload(container), IsEmpty()) << log;
  }
}

TEST_F(WorkloadFindings, AGpuThatNobodyOnItsNodeSees) {
  for (const auto& [log, code] :
       {std::pair("no CUDA-capable device is detected", "GpuNotInContainer"),
        std::pair("Error 802: system not yet initialized", "FabricManagerNotReady")}) {
    const ContainerFacts container = Crashing("train", log);
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
    EXPECT_THAT(Workload(container), ElementsAre(Field(&Finding::code, code)));
    cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "DriverHangs";
    EXPECT_THAT(Workload(container), IsEmpty());
  }
}

// CUDA says the same of a driver that is too old and of one that is not in the container.
TEST_F(WorkloadFindings, ADriverThatCudaCannotUse) {
  const ContainerFacts container =
      Crashing("train", "CUDA driver version is insufficient for CUDA runtime version");
  EXPECT_THAT(Workload(container),
              ElementsAre(AllOf(Field(&Finding::code, "DriverTooOld"),
                                Field(&Finding::remedy, HasSubstr("that CDI is enabled")))));
  cluster_.nodes[0].labels["nvidia.com/gpu.validation"] = "ready";
  EXPECT_THAT(Workload(container),
              ElementsAre(AllOf(Field(&Finding::code, "GpuNotInContainer"),
                                Field(&Finding::remedy, HasSubstr("a newer driver")))));
  EXPECT_THAT(Workload(Crashing("train", "The NVIDIA driver on your system is too old")),
              ElementsAre(Field(&Finding::code, "DriverTooOld")));
}

TEST_F(WorkloadFindings, MemoryThatNeighboursTake) {
  const ContainerFacts container = Crashing("train", "CUDA out of memory");
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("more memory than its GPU has"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "mps";
  EXPECT_THAT(Workload(container)[0].message, HasSubstr("its share of a GPU, limited by MPS"));
  EXPECT_THAT(Workload(container)[0].remedy, HasSubstr("replicas"));
  cluster_.nodes[0].labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing";
  EXPECT_THAT(Workload(container)[0].message,
              HasSubstr("by time-slicing, which does not limit memory"));
}

}  // namespace
}  // namespace gantry::doctor
