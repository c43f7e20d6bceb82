// SPDX-License-Identifier: Apache-2.0
// What can't be shared, whatever GPUs there are? MPS shares whole GPUs, and NVIDIA's plugin refuses
// it beside the resources of MIG profiles.
#include "gpu/sharing_rules.h"

namespace gantry::gpu {

Status CheckSharing(const policy::Sharing& sharing, policy::MigStrategy strategy) {
  if (sharing.strategy == policy::SharingStrategy::kMps &&
      strategy == policy::MigStrategy::kMixed) {
    return Fail(ErrorKind::kInvalid, "sharing.mps: can't be had with the MIG strategy mixed");
  }
  return {};
}

}  // namespace gantry::gpu
