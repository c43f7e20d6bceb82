// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace gantry::policy {

class SpecSection;

// A number of nodes, or a percentage of them.
struct NodeShare {
  long long count = 0;
  bool percent = false;
  // The number for so many nodes: percentages are rounded up; never more than `nodes`.
  [[nodiscard]] long long Of(long long nodes) const;
  bool operator==(const NodeShare&) const = default;
};

// How pods are removed from a node.
struct PodRemovalSpec {
  bool force = false;                 // also pods without a controller, which are not recreated
  bool delete_empty_dir = false;      // also pods whose emptyDir volumes are lost
  std::chrono::seconds timeout{300};  // 0: no limit
  bool operator==(const PodRemovalSpec&) const = default;
};

// driver.upgradePolicy of a ClusterPolicy, upgradePolicy of a NVIDIADriver, with NVIDIA's defaults.
struct UpgradePolicy {
  bool automatic = false;
  long long max_parallel = 1;  // nodes in an upgrade at once; 0: no limit
  NodeShare max_unavailable{.count = 25, .percent = true};
  std::string jobs_selector = {};        // pods to wait for; empty: none
  std::chrono::seconds jobs_timeout{0};  // 0: without limit; the upgrade continues after it
  PodRemovalSpec pod_deletion = {};      // for pods with GPUs
  bool drain = false;                    // if pod_deletion fails
  PodRemovalSpec drain_spec = {};
  std::string drain_selector = {};
  bool operator==(const UpgradePolicy&) const = default;
};

// Absent fields keep the values of `out`, here and below. The section keeps a mistake, with its
// field.
void ReadPodRemoval(const SpecSection& section, PodRemovalSpec& out);

// Absent fields keep the values of `policy`. The section keeps a mistake, with its field.
UpgradePolicy ReadUpgradePolicy(const SpecSection& section, UpgradePolicy policy);

}  // namespace gantry::policy
