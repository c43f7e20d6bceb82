// SPDX-License-Identifier: Apache-2.0
// Which sharing is impossible on any GPUs? MPS shares full GPUs, and NVIDIA's plugin rejects it
// together with the resources of MIG profiles.
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
