// SPDX-License-Identifier: Apache-2.0
// What a function that generate_rest.py defines answers: NOT_SUPPORTED, after the checks that stand
// before every answer.
#include "session.h"

using namespace fakegpu;

extern "C" nvmlReturn_t fakegpuRestOfSystem() {
  nvmlReturn_t no = CheckSystem();
  return no == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : no;
}

extern "C" nvmlReturn_t fakegpuRestOfGpu(const char* call, nvmlDevice_t device) {
  return OnEither(call, device,
                  [](const Gpu&, const MigDevice*) { return NVML_ERROR_NOT_SUPPORTED; });
}
