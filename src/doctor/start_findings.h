// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Why pods with a node do not start there, or were rejected by its kubelet.
void ExamineStarts(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Code for a container whose runtime gives it no GPU although the kubelet does.
inline constexpr char kNotInContainer[] = "GpuNotInContainer";
inline constexpr char kGiveByRuntime[] =
    "check that CDI is enabled in the node's container runtime, or which runtime the pod uses "
    "(runtimeClassName, the default one)";

// The finding for a container runtime's error of a failed start, without an object yet; nothing if
// no table has it. Some are failures only of containers with GPUs (`wants_gpus`). Without `toolkit`
// no pod of the operator installs the container toolkit, and no pod has its log.
std::optional<Finding> StartFailure(std::string_view words, bool wants_gpus, bool toolkit = true);

// Whether the reconciled policy installs the container toolkit.
bool InstallsToolkit(const ClusterFacts& cluster);

// The finding about a missing folder of the host that a pod needs, from the kubelet's message;
// without a code if the message is about something else.
Finding LacksFolder(std::string_view words);

}  // namespace gantry::doctor
