// SPDX-License-Identifier: Apache-2.0

// Which feature gates does NVIDIA's DRA driver (v0.5) have, and which of them does Gantry's serve?
// None of those of GPUs so far; those of ComputeDomains are another program's.

#include "policy/dra_gates.h"

#include <algorithm>
#include <array>

namespace gantry::policy {
namespace {

constexpr std::array<std::string_view, 11> kNotServed = {"TimeSlicingSettings",
                                                         "MPSSupport",
                                                         "ConsumableShares",
                                                         "NVMLDeviceHealthCheck",
                                                         "DynamicMIG",
                                                         "PassthroughSupport",
                                                         "DeviceMetadata",
                                                         "AllAlpha",
                                                         "FabricManagerPartitioning",
                                                         "AllBeta",
                                                         "DRAListTypeAttributes"};
constexpr std::array<std::string_view, 5> kWithoutEffect = {
    "HostManagedIMEXDaemon", "IMEXDaemonsWithDNSNames", "CrashOnNVLinkFabricErrors",
    "ComputeDomainCliques", "ContextualLogging"};

}  // namespace

DraGate DraGateNamed(std::string_view name) {
  if (std::ranges::find(kNotServed, name) != kNotServed.end()) {
    return DraGate::kNotServed;
  }
  return std::ranges::find(kWithoutEffect, name) != kWithoutEffect.end() ? DraGate::kWithoutEffect
                                                                         : DraGate::kUnknown;
}

}  // namespace gantry::policy
