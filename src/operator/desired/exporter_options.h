// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "operator/desired/context.h"
#include "operator/desired/pod.h"

namespace gantry::gpu_operator {

// What of the section dcgmExporter no object can be made of, with the field and what it may be;
// empty if nothing. Ours and NVIDIA's exporter have the same fields.
std::string ExporterMistake(const policy::ClusterPolicy& policy);

// What of the API server the exporter, ours or NVIDIA's, is asked to read. Each is a right.
struct ExporterReads {
  bool config_map = false;  // counters that it reads itself: DCGM_EXPORTER_CONFIGMAP_DATA
  bool pods = false;        // labels and uids of pods
  bool claims = false;      // which GPU a claim of dynamic resource allocation has

  [[nodiscard]] bool Anything() const { return config_map || pods || claims; }
};
ExporterReads WhatExporterReads(const policy::ClusterPolicy& policy);

// The ClusterRole with its binding for pods and claims: nothing if they are not read.
void AddExporterClusterRole(Objects& objects, const Context& context, const ExporterReads& reads);

// Whether Gantry's exporter must be privileged, because the policy's container toolkit can't be
// relied on to give it the node's GPUs: it is disabled or NVIDIA's, or its own arguments or
// variables decide what it does.
bool ExporterIsPrivileged(const Context& context);

// Whether the exporter is to know the processes that use a GPU, which are the host's.
bool ExporterSeesProcesses(const policy::ClusterPolicy& policy);

// The variables and folders of the section's fields that ours and NVIDIA's exporter share: pod
// labels and uids, HPC jobs, annotations.
void AddExporterOptions(const policy::DcgmExporterOptions& options, DaemonSet& set);

}  // namespace gantry::gpu_operator
