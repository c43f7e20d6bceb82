// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace gantry::doctor {

// Why pods that have a node are not started there, or were refused by its kubelet.
void ExamineStarts(const ClusterFacts& cluster, std::vector<Finding>& findings);

// Of a container whose runtime gives it no GPU although the kubelet does.
inline constexpr char kNotInContainer[] = "GpuNotInContainer";
inline constexpr char kGiveByRuntime[] =
    "check that CDI is enabled in the node's container runtime, or which runtime the pod uses "
    "(runtimeClassName, the default one)";

// What the words of a container runtime say of a start that failed, of no object yet; nothing if
// they are in nobody's table. Some are a failure only of who was given GPUs (`wants_gpus`); without
// `toolkit` no pod of the operator's installs the container toolkit, and nobody has its log.
std::optional<Finding> StartFailure(std::string_view words, bool wants_gpus, bool toolkit = true);

// Whether the policy that is acted on has the container toolkit installed.
bool InstallsToolkit(const ClusterFacts& cluster);

// The finding about a folder of the host that a pod needs and that is not there, from the kubelet's
// words; it has no code where they are of something else.
Finding LacksFolder(std::string_view words);

}  // namespace gantry::doctor
