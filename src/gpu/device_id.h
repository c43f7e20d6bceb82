// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gantry::gpu {

// Separates a UUID from the number of a share.
inline constexpr std::string_view kReplicaMark = "::";

// The id of a device in the kubelet and its checkpoint: the UUID of a GPU or MIG device, and for a
// share of it also the share's number: "GPU-...::3" (k8s-device-plugin v0.20, AnnotatedID).
std::string ShareId(std::string_view uuid, int share);

// "GPU-...::3" -> "GPU-...".
std::string_view UuidOf(std::string_view device_id);
// Whether it is one share of several.
bool IsReplica(std::string_view device_id);

}  // namespace gantry::gpu
