// SPDX-License-Identifier: Apache-2.0
// How busy were the parts of a GPU between two samples? NVML has such counters since Hopper.
#include <algorithm>

#include "nvml/errors.h"
#include "nvml/sample.h"
#include "nvml/symbols.h"

namespace gantry::nvml {

GpmSample::GpmSample(const Symbols& symbols, void* sample) : symbols_(symbols), sample_(sample) {}

GpmSample::~GpmSample() { Call(symbols_.nvmlGpmSampleFree, static_cast<nvmlGpmSample_t>(sample_)); }

Result<std::unique_ptr<GpmSample>> GpmSample::Take(const Library& library, const std::string& uuid,
                                                   std::optional<unsigned> gpu_instance) {
  const Symbols& nvml = library.symbols();
  TRY_ASSIGN(const nvmlDevice_t device, HandleOf(nvml, uuid));
  nvmlGpmSupport_t support{.version = NVML_GPM_SUPPORT_VERSION, .isSupportedDevice = 0};
  nvmlReturn_t code = Call(nvml.nvmlGpmQueryDeviceSupport, device, &support);
  if (code != NVML_SUCCESS || support.isSupportedDevice == 0) {
    return FailNvml("nvmlGpmQueryDeviceSupport", uuid,
                    code != NVML_SUCCESS ? code : NVML_ERROR_NOT_SUPPORTED);
  }
  nvmlGpmSample_t sample = nullptr;
  code = Call(nvml.nvmlGpmSampleAlloc, &sample);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlGpmSampleAlloc", uuid, code);
  }
  auto taken = std::make_unique<GpmSample>(nvml, sample);
  code = gpu_instance ? Call(nvml.nvmlGpmMigSampleGet, device, *gpu_instance, sample)
                      : Call(nvml.nvmlGpmSampleGet, device, sample);
  if (code != NVML_SUCCESS) {
    return FailNvml("nvmlGpmSampleGet", uuid, code);
  }
  return taken;
}

std::vector<Answer> GpmSample::Since(const GpmSample& before,
                                     std::span<const unsigned> metrics) const {
  auto get = std::make_unique<nvmlGpmMetricsGet_t>();
  get->version = NVML_GPM_METRICS_GET_VERSION;
  get->numMetrics = static_cast<unsigned>(std::min(metrics.size(), std::size(get->metrics)));
  get->sample1 = static_cast<nvmlGpmSample_t>(before.sample_);
  get->sample2 = static_cast<nvmlGpmSample_t>(sample_);
  for (unsigned i = 0; i < get->numMetrics; ++i) {
    get->metrics[i].metricId = metrics[i];
  }
  const nvmlReturn_t code = Call(symbols_.nvmlGpmMetricsGet, get.get());
  std::vector<Answer> answers;
  answers.reserve(metrics.size());
  for (unsigned i = 0; i < get->numMetrics; ++i) {
    const nvmlReturn_t one = code != NVML_SUCCESS ? code : get->metrics[i].nvmlReturn;
    if (one == NVML_SUCCESS) {
      answers.emplace_back(Value(get->metrics[i].value));
    } else {
      answers.emplace_back(std::unexpect, KindOf(one));
    }
  }
  answers.resize(metrics.size(), std::unexpected(ErrorKind::kUnsupported));
  return answers;
}

}  // namespace gantry::nvml
