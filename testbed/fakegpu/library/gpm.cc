// SPDX-License-Identifier: Apache-2.0
// GPU performance monitoring (GPM): counters since Hopper. A user takes two samples and asks what
// happened between them.
//
// A part of a GPU is as busy as the machine says (gpm_*), or a fixed part of the GPU's utilization;
// that of a GPU instance is the sum of its processes'. NVLink's numbers are differences of counters
// over time. Percentages are those of the later sample.
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "mig.h"

using namespace fakegpu;

struct nvmlGpmSample_st {
  u32 position, gpu_instance;  // kUnknown32: the whole GPU
  u64 time;                    // microseconds; 0: nothing was sampled yet
  u32 links;
  double busy, dram;  // percent; NaN: not known
  u64 sent[kMaxLinks], received[kMaxLinks];
};

namespace {

constexpr double kKibPerMib = 1024;

// What of the GPU's utilization a part has when the machine doesn't say otherwise.
struct Part {
  unsigned id;
  u32 Gpu::* field;  // hundredths of a percent
  double share;
  const char* name;
};

constexpr Part kParts[] = {
    {NVML_GPM_METRIC_GRAPHICS_UTIL, &Gpu::gpm_graphics, 1.00, "graphics_util"},
    {NVML_GPM_METRIC_SM_UTIL, &Gpu::gpm_sm, 1.00, "sm_util"},
    {NVML_GPM_METRIC_SM_OCCUPANCY, &Gpu::gpm_occupancy, 0.75, "sm_occupancy"},
    {NVML_GPM_METRIC_INTEGER_UTIL, &Gpu::gpm_integer, 0.10, "integer_util"},
    {NVML_GPM_METRIC_ANY_TENSOR_UTIL, &Gpu::gpm_tensor, 0.50, "any_tensor_util"},
    {NVML_GPM_METRIC_DFMA_TENSOR_UTIL, &Gpu::gpm_dfma, 0.02, "dfma_tensor_util"},
    {NVML_GPM_METRIC_HMMA_TENSOR_UTIL, &Gpu::gpm_hmma, 0.40, "hmma_tensor_util"},
    {NVML_GPM_METRIC_IMMA_TENSOR_UTIL, &Gpu::gpm_imma, 0.05, "imma_tensor_util"},
    {NVML_GPM_METRIC_FP64_UTIL, &Gpu::gpm_fp64, 0.05, "fp64_util"},
    {NVML_GPM_METRIC_FP32_UTIL, &Gpu::gpm_fp32, 0.25, "fp32_util"},
    {NVML_GPM_METRIC_FP16_UTIL, &Gpu::gpm_fp16, 0.35, "fp16_util"},
};

// Runs of metrics, one for each engine of a kind.
struct Engines {
  unsigned first, last;
  u32 Gpu::* count;
  u32 Gpu::* utilization;
};

constexpr Engines kEngines[] = {
    {NVML_GPM_METRIC_NVDEC_0_UTIL, NVML_GPM_METRIC_NVDEC_7_UTIL, &Gpu::decoders,
     &Gpu::utilization_decoder},
    {NVML_GPM_METRIC_NVJPG_0_UTIL, NVML_GPM_METRIC_NVJPG_7_UTIL, &Gpu::jpeg_engines,
     &Gpu::utilization_jpeg},
    {NVML_GPM_METRIC_NVOFA_0_UTIL, NVML_GPM_METRIC_NVOFA_1_UTIL, &Gpu::ofa_engines,
     &Gpu::utilization_ofa},
    {NVML_GPM_METRIC_NVENC_0_UTIL, NVML_GPM_METRIC_NVENC_3_UTIL, &Gpu::encoders,
     &Gpu::utilization_encoder},
};

u64 Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<u64>(now.tv_sec) * 1000000 + static_cast<u64>(now.tv_nsec) / 1000;
}

double Known(u32 value) { return value == kUnknown32 ? NAN : double(value); }

nvmlReturn_t Put(nvmlGpmMetric_t& metric, double value) {
  metric.value = value;
  return isnan(value) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t Take(const Gpu& gpu, u32 position, u32 gpu_instance, nvmlGpmSample_t sample) {
  if (sample == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (!IsSince(gpu, NVML_DEVICE_ARCH_HOPPER)) return NVML_ERROR_NOT_SUPPORTED;
  *sample = {position,
             gpu_instance,
             Now(),
             gpu.link_count,
             Known(gpu.utilization_gpu),
             Known(gpu.utilization_memory),
             {},
             {}};
  for (u32 link = 0; link < gpu.link_count; ++link) {
    sample->sent[link] = gpu.links[link].sent + LinkGrowth(gpu);
    sample->received[link] = gpu.links[link].received + LinkGrowth(gpu);
  }
  if (gpu_instance == kUnknown32) return NVML_SUCCESS;
  sample->busy = sample->dram = 0;
  for (u32 i = 0; i < gpu.process_count && i < kMaxProcesses; ++i) {
    if (gpu.processes[i].gpu_instance != gpu_instance) continue;
    sample->busy += gpu.processes[i].sm_utilization;
    sample->dram += gpu.processes[i].memory_utilization;
  }
  return NVML_SUCCESS;
}

// MiB a second that the counters of a link, or of all, grew by between the samples.
nvmlReturn_t LinkRate(const nvmlGpmSample_st& first, const nvmlGpmSample_st& second, unsigned id,
                      double& value) {
  bool total = id <= NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC;
  bool sent = id % 2 == NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC % 2;
  u32 link = total ? 0 : (id - NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC) / 2;
  u32 end = total ? second.links : link + 1;
  if (link >= second.links || end > second.links) return NVML_ERROR_NOT_SUPPORTED;
  u64 kib = 0;
  for (; link < end; ++link) {
    kib +=
        sent ? second.sent[link] - first.sent[link] : second.received[link] - first.received[link];
  }
  value = double(kib) / kKibPerMib * 1e6 / double(second.time - first.time);
  return NVML_SUCCESS;
}

nvmlReturn_t Percent(const Gpu& gpu, const nvmlGpmSample_st& sample, nvmlGpmMetric_t& metric) {
  bool whole = sample.gpu_instance == kUnknown32;
  for (const Part& part : kParts) {
    if (part.id != metric.metricId) continue;
    bool said = whole && gpu.*part.field != kUnknown32;
    metric.metricInfo = {const_cast<char*>(part.name), nullptr, const_cast<char*>("%")};
    return Put(metric, said ? gpu.*part.field / 100.0 : sample.busy * part.share);
  }
  for (const Engines& engines : kEngines) {
    if (metric.metricId < engines.first || metric.metricId > engines.last) continue;
    bool there = whole && metric.metricId - engines.first < gpu.*engines.count;
    return there ? Put(metric, Known(gpu.*engines.utilization)) : NVML_ERROR_NOT_SUPPORTED;
  }
  return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t Measure(const Gpu& gpu, const nvmlGpmSample_st& first, const nvmlGpmSample_st& second,
                     nvmlGpmMetric_t& metric) {
  bool whole = second.gpu_instance == kUnknown32;
  unsigned id = metric.metricId;
  metric.metricInfo = {};
  if (second.time <= first.time) {
    metric.value = NAN;
    return NVML_SUCCESS;
  }
  if (gpu.counters_frozen == 1) return Put(metric, 0);
  if (id == NVML_GPM_METRIC_DRAM_BW_UTIL) {
    bool said = whole && gpu.gpm_dram != kUnknown32;
    return Put(metric, said ? gpu.gpm_dram / 100.0 : second.dram);
  }
  if (id == NVML_GPM_METRIC_PCIE_TX_PER_SEC || id == NVML_GPM_METRIC_PCIE_RX_PER_SEC) {
    u32 kib = id == NVML_GPM_METRIC_PCIE_TX_PER_SEC ? gpu.pcie_sent : gpu.pcie_received;
    return whole ? Put(metric, Known(kib) / kKibPerMib) : NVML_ERROR_NOT_SUPPORTED;
  }
  if (id >= NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC &&
      id <= NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC) {
    return whole ? LinkRate(first, second, id, metric.value) : NVML_ERROR_NOT_SUPPORTED;
  }
  return Percent(gpu, second, metric);
}

}  // namespace

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* out) {
  return OnGpu(__func__, device, [&](const Gpu& gpu) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    out->isSupportedDevice = IsSince(gpu, NVML_DEVICE_ARCH_HOPPER);
    return NVML_SUCCESS;
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* out) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<nvmlGpmSample_t>(calloc(1, sizeof(nvmlGpmSample_st)));
  return *out == nullptr ? NVML_ERROR_MEMORY : NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  if (sample == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  free(sample);
  return NVML_SUCCESS;
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
  return OnGpu(__func__, device,
               [&](const Gpu& gpu) { return Take(gpu, PositionOf(device), kUnknown32, sample); });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned gpu_instance,
                                                nvmlGpmSample_t sample) {
  return OnMigGpu(__func__, device, [&](const Gpu& gpu) {
    if (gpu_instance >= kMaxGpuInstances || gpu.gpu_instances[gpu_instance].used == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    return Take(gpu, PositionOf(device), gpu_instance, sample);
  });
}

FAKEGPU_EXPORT nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* get) {
  if (nvmlReturn_t no = CheckSystem(); no != NVML_SUCCESS) return no;
  if (get == nullptr || get->sample1 == nullptr || get->sample2 == nullptr ||
      get->numMetrics > NVML_GPM_METRIC_MAX) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (get->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  const nvmlGpmSample_st &first = *get->sample1, &second = *get->sample2;
  bool same = first.position == second.position && first.gpu_instance == second.gpu_instance;
  if (first.time == 0 || second.time == 0 || !same) return NVML_ERROR_INVALID_ARGUMENT;
  const Gpu& gpu = GpuAt(second.position);
  if (nvmlReturn_t no = CheckGpu(__func__, gpu); no != NVML_SUCCESS) return no;
  for (unsigned i = 0; i < get->numMetrics; ++i) {
    get->metrics[i].nvmlReturn = Measure(gpu, first, second, get->metrics[i]);
  }
  return NVML_SUCCESS;
}
