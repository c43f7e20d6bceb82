// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "doctor/finding.h"
#include "doctor/node_stage.h"

namespace gantry::doctor {

// Whether GPUs are given out by resource claims: a GPUCluster is there.
bool IsByClaims(const ClusterFacts& cluster);

// A GPU node whose DRA driver should offer a device and offers none.
std::optional<Finding> NoDevices(const StagedCluster& cluster, const NodeFacts& node);

// Why a pending pod gets no device; nothing while the scheduler says nothing of it.
std::optional<Finding> ClaimWaits(const ClusterFacts& cluster, const PodFacts& pod);

}  // namespace gantry::doctor
