// SPDX-License-Identifier: Apache-2.0

// How are drivers upgraded? The upgrade policy of a ClusterPolicy or a NVIDIADriver, field by
// field. An invalid budget is a mistake and does not become the default: it limits how many nodes
// users lose at once.

#include "policy/upgrade_policy.h"

#include <algorithm>

#include "base/text.h"
#include "policy/spec_section.h"

namespace gantry::policy {
namespace {

// Longer times would overflow a time point; in practice there is no difference.
constexpr long long kTenYears = 10LL * 366 * 24 * 3600;

void ReadCount(const SpecSection& section, std::string_view key, long long& out) {
  long long value = out;
  section.Number(key, value);
  if (value < 0) {
    section.Wrong(key, "must not be negative");
  } else {
    out = value;
  }
}

void ReadSeconds(const SpecSection& section, std::chrono::seconds& out) {
  long long value = out.count();
  ReadCount(section, "timeoutSeconds", value);
  out = std::chrono::seconds(std::min(value, kTenYears));
}

void ReadShare(const SpecSection& section, std::string_view key, NodeShare& out) {
  const Json* found = section.Find(key);
  if (found == nullptr || !found->is_string()) {
    long long count = -1;
    section.Number(key, count);
    if (count >= 0) {
      out = {.count = count, .percent = false};
    } else if (found != nullptr) {
      section.Wrong(key, "must not be negative");
    }
    return;
  }
  std::string_view text = found->get_ref<const std::string&>();
  const bool percent = text.ends_with('%');
  if (text.empty()) {
    return;
  }
  const Result<long long> count = ParseInt(text.substr(0, text.size() - (percent ? 1 : 0)));
  if (!count.has_value() || *count < 0) {
    section.Wrong(key, format("\"{}\" is neither a number nor a percentage", text));
    return;
  }
  out = {.count = *count, .percent = percent};
}

}  // namespace

void ReadPodRemoval(const SpecSection& section, PodRemovalSpec& out) {
  section.Bool("force", out.force);
  section.Bool("deleteEmptyDir", out.delete_empty_dir);
  ReadSeconds(section, out.timeout);
}

long long NodeShare::Of(long long nodes) const {
  if (!percent) {
    return std::min(count, nodes);
  }
  return (std::min(count, 100LL) * nodes + 99) / 100;
}

UpgradePolicy ReadUpgradePolicy(const SpecSection& section, UpgradePolicy policy) {
  section.Bool("autoUpgrade", policy.automatic);
  ReadCount(section, "maxParallelUpgrades", policy.max_parallel);
  ReadShare(section, "maxUnavailable", policy.max_unavailable);
  const SpecSection jobs = section.In("waitForCompletion");
  jobs.Text("podSelector", policy.jobs_selector);
  ReadSeconds(jobs, policy.jobs_timeout);
  ReadPodRemoval(section.In("podDeletion"), policy.pod_deletion);
  const SpecSection drain = section.In("drain");
  drain.Bool("enable", policy.drain);
  ReadPodRemoval(drain, policy.drain_spec);
  drain.Text("podSelector", policy.drain_selector);
  return policy;
}

}  // namespace gantry::policy
