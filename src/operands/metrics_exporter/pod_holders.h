// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/pod_gpus.h"
#include "host/pods_of_node.h"
#include "kube/object.h"
#include "kubelet/pod_resources.h"
#include "operands/metrics_exporter/claims.h"
#include "operands/metrics_exporter/job_files.h"

namespace gantry::metrics_exporter {

// What the API server says of a pod.
struct PodFacts {
  std::string uid;
  gpu::PodLabels labels;  // those that are wanted
  bool operator==(const PodFacts&) const = default;
};

// All that was seen of the pods of this node, by whoever knows it.
struct PodsSeen {
  std::vector<kubelet::PodResources> pods;  // the kubelet's list
  host::PodsOfNode node = {};               // its folders
  std::map<kube::Key, PodFacts> facts = {};
  SliceDevices devices = {};
  Claims claims = {};
  Jobs jobs = {};
  bool operator==(const PodsSeen&) const = default;
};

// Which pods get series, and with which labels.
struct PodChoice {
  std::set<std::string> resource_names = {};  // besides NVIDIA's
  bool every_holder = false;                  // of a shared GPU each pod has series of its own
  bool uid_label = false;
};

// Who holds which of these GPUs. With series for each pod, one whose last container is gone has
// none; each holder comes once.
gpu::Holders HoldersNow(const PodsSeen& seen, const std::vector<gpu::Gpu>& gpus,
                        const PodChoice& choice);

}  // namespace gantry::metrics_exporter
