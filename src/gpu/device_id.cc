// SPDX-License-Identifier: Apache-2.0
// Which GPU or MIG device does one of the kubelet's device ids name?
#include "gpu/device_id.h"

#include "base/text.h"

namespace gantry::gpu {

std::string ShareId(std::string_view uuid, int share) {
  return format("{}{}{}", uuid, kReplicaMark, share);
}

std::string_view UuidOf(std::string_view device_id) {
  return device_id.substr(0, device_id.find(kReplicaMark));
}

bool IsReplica(std::string_view device_id) {
  return device_id.find(kReplicaMark) != std::string_view::npos;
}

}  // namespace gantry::gpu
