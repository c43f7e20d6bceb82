// SPDX-License-Identifier: Apache-2.0
// Whom do the flags say to ask about pods, processes and jobs?
#include "operands/metrics_exporter/follow_pods.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "gpu/device_nodes.h"
#include "operands/metrics_exporter/process_uses.h"

namespace gantry::metrics_exporter {

std::unique_ptr<PodFollower> FollowPods(const Flags& flags, std::function<void(PodsSeen)> tell) {
  if (!flags.kubernetes && flags.jobs_dir.empty()) {
    return nullptr;
  }
  PodFollower::Options options{.socket = flags.kubernetes ? flags.pod_resources : "",
                               .host_root = gpu::HostRoot(flags.host_root),
                               .kubelet_root = flags.kubelet_root.empty()
                                                   ? ParentOf(ParentOf(flags.pod_resources))
                                                   : flags.kubelet_root,
                               .jobs = flags.jobs_dir,
                               .interval = flags.interval,
                               .looks_at_cgroups = flags.pods.every_holder,
                               .cluster = {},
                               .tell = std::move(tell)};
  // Processes belong to pods by uid: where the node's folders are not mounted, only the API server
  // tells uids.
  std::error_code error;
  const bool unseen = flags.pods.every_holder &&
                      !std::filesystem::is_directory(options.host_root + "/var/log/pods", error);
  const bool pods = flags.pod_labels || flags.pods.uid_label || unseen;
  if (flags.kubernetes && (pods || flags.claims)) {
    options.cluster = {.kubeconfig = flags.kubeconfig,
                       .node = flags.labelling.node,
                       .pods = pods,
                       .labels = flags.pod_labels,
                       .filter = flags.label_filter,
                       .slices = flags.claims,
                       .changed = {}};
  }
  return std::make_unique<PodFollower>(std::move(options));
}

std::string ProcessesRoot(const Flags& flags) {
  if (!flags.pods.every_holder) {
    return "";
  }
  std::string root = gpu::HostRoot(flags.host_root);
  if (!SeesProcessesOfNode(root)) {
    log::Warning(
        "--kubernetes-virtual-gpus: the processes of pods are not seen, so each pod of a shared "
        "GPU has the GPU's values; set hostPID in the exporter's pod");
    return "";
  }
  return root;
}

}  // namespace gantry::metrics_exporter
