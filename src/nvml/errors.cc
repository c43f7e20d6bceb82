// SPDX-License-Identifier: Apache-2.0
// What does an NVML code mean to a caller? NVML (nvml.h, nvmlReturn_t) has thirty codes; a caller
// distinguishes eight kinds. GPU_IS_LOST, RESET_REQUIRED and UNKNOWN can all pass (a reset, a
// driver reload), so they are kUnavailable: a prober retries.
#include "nvml/errors.h"

#include <string>

#include "base/text.h"

namespace gantry::nvml {
namespace {

struct Row {
  nvmlReturn_t code;
  const char* name;
  ErrorKind kind;
};

constexpr Row kRows[] = {
    {NVML_ERROR_UNINITIALIZED, "UNINITIALIZED", ErrorKind::kInternal},
    {NVML_ERROR_INVALID_ARGUMENT, "INVALID_ARGUMENT", ErrorKind::kInvalid},
    {NVML_ERROR_NOT_SUPPORTED, "NOT_SUPPORTED", ErrorKind::kUnsupported},
    {NVML_ERROR_NO_PERMISSION, "NO_PERMISSION", ErrorKind::kDenied},
    {NVML_ERROR_ALREADY_INITIALIZED, "ALREADY_INITIALIZED", ErrorKind::kInternal},
    {NVML_ERROR_NOT_FOUND, "NOT_FOUND", ErrorKind::kNotFound},
    {NVML_ERROR_INSUFFICIENT_SIZE, "INSUFFICIENT_SIZE", ErrorKind::kInternal},
    {NVML_ERROR_INSUFFICIENT_POWER, "INSUFFICIENT_POWER", ErrorKind::kUnavailable},
    {NVML_ERROR_DRIVER_NOT_LOADED, "DRIVER_NOT_LOADED", ErrorKind::kNotFound},
    {NVML_ERROR_TIMEOUT, "TIMEOUT", ErrorKind::kTimeout},
    {NVML_ERROR_IRQ_ISSUE, "IRQ_ISSUE", ErrorKind::kUnavailable},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "LIBRARY_NOT_FOUND", ErrorKind::kNotFound},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND", ErrorKind::kUnsupported},
    {NVML_ERROR_CORRUPTED_INFOROM, "CORRUPTED_INFOROM", ErrorKind::kUnavailable},
    {NVML_ERROR_GPU_IS_LOST, "GPU_IS_LOST", ErrorKind::kUnavailable},
    {NVML_ERROR_RESET_REQUIRED, "RESET_REQUIRED", ErrorKind::kUnavailable},
    {NVML_ERROR_OPERATING_SYSTEM, "OPERATING_SYSTEM", ErrorKind::kDenied},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "LIB_RM_VERSION_MISMATCH", ErrorKind::kUnavailable},
    {NVML_ERROR_IN_USE, "IN_USE", ErrorKind::kConflict},
    {NVML_ERROR_MEMORY, "MEMORY", ErrorKind::kUnavailable},
    {NVML_ERROR_NO_DATA, "NO_DATA", ErrorKind::kUnsupported},
    {NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "VGPU_ECC_NOT_SUPPORTED", ErrorKind::kUnsupported},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "INSUFFICIENT_RESOURCES", ErrorKind::kUnavailable},
    {NVML_ERROR_FREQ_NOT_SUPPORTED, "FREQ_NOT_SUPPORTED", ErrorKind::kUnsupported},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "ARGUMENT_VERSION_MISMATCH", ErrorKind::kUnsupported},
    {NVML_ERROR_DEPRECATED, "DEPRECATED", ErrorKind::kUnsupported},
    {NVML_ERROR_NOT_READY, "NOT_READY", ErrorKind::kUnavailable},
    {NVML_ERROR_GPU_NOT_FOUND, "GPU_NOT_FOUND", ErrorKind::kNotFound},
    {NVML_ERROR_INVALID_STATE, "INVALID_STATE", ErrorKind::kConflict},
    {NVML_ERROR_UNKNOWN, "UNKNOWN", ErrorKind::kUnavailable},
};

const Row* Find(nvmlReturn_t code) {
  for (const Row& row : kRows) {
    if (row.code == code) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

ErrorKind KindOf(nvmlReturn_t code) {
  const Row* row = Find(code);
  return row != nullptr ? row->kind : ErrorKind::kUnavailable;
}

std::string CodeName(nvmlReturn_t code) {
  const Row* row = Find(code);
  return row != nullptr ? row->name : format("code {}", static_cast<int>(code));
}

std::unexpected<Error> FailNvml(std::string_view call, std::string_view object, nvmlReturn_t code) {
  return Fail(KindOf(code),
              format("{}{}{}: {}", call, object.empty() ? "" : " ", object, CodeName(code)));
}

}  // namespace gantry::nvml
