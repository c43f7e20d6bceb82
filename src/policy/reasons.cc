// SPDX-License-Identifier: Apache-2.0
// Which reasons exist? reasons_test.cc compares the constants, this list and docs/doctor.md.
#include "policy/reasons.h"

#include <algorithm>
#include <array>

namespace gantry::reasons {
namespace {

constexpr std::array kAll = std::to_array<Reason>({kDriverMissing,
                                                   kDriverContainerNotReady,
                                                   kDriverNotInstalled,
                                                   kLibraryMissing,
                                                   kKernelModuleNotLoaded,
                                                   kVersionMismatch,
                                                   kDeviceNodeMissing,
                                                   kGpuBoundToNouveau,
                                                   kGpuBoundToVfio,
                                                   kDriverHangs,
                                                   kDriverFails,
                                                   kNoGpuAnswers,
                                                   kNoGpu,
                                                   kToolkitNotInstalled,
                                                   kToolkitBroken,
                                                   kCdiMissing,
                                                   kCdiInvalid,
                                                   kCdiStale,
                                                   kRuntimeNotConfigured,
                                                   kRuntimeNeedsRestart,
                                                   kNoGpuAllocatable,
                                                   kCdiHookMissing,
                                                   kKubeletDoesNotAnswer,
                                                   kCudaHangs,
                                                   kCudaFails,
                                                   kCudaVersionMismatch,
                                                   kFabricManagerNotReady,
                                                   kModuleNotLoaded,
                                                   kMofedNotReady,
                                                   kGpuNotBoundToVfio,
                                                   kVgpuManagerFails,
                                                   kVirtualFunctionsMissing,
                                                   kNotDivisible,
                                                   kNoVgpuDevices,
                                                   kCcManagerNotReady,
                                                   kGpuUnreadable,
                                                   kNvmlNotUsable,
                                                   kGpuHealthy,
                                                   kGpuSuspect,
                                                   kGpuUnhealthy,
                                                   kInvalidDevicePluginConfig,
                                                   kDevicePluginConfigApplied,
                                                   kCdiDocumentNotWritten,
                                                   kGpuNotOffered});

}  // namespace

std::span<const Reason> All() { return kAll; }

const Reason* Find(Writer writer, std::string_view code) {
  const auto found = std::ranges::find_if(
      kAll, [&](const Reason& each) { return each.writer == writer && each.code == code; });
  return found == kAll.end() ? nullptr : &*found;
}

}  // namespace gantry::reasons
