// SPDX-License-Identifier: Apache-2.0
// How are the kubelet's Allocate and GetPreferredAllocation answered? From an immutable snapshot of
// the decisions, so that no call waits for a GPU or for a pending change. Only the control device
// nodes are checked at each call: the driver makes some of them at their first use.
#include "operands/device_plugin/offer.h"

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "gpu/device_id.h"
#include "gpu/device_nodes.h"
#include "gpu/scores.h"
#include "operands/device_plugin/preferred.h"

namespace gantry::device_plugin {
namespace {

class Snapshot : public kubelet::Allocator {
 public:
  Snapshot(Resource resource, gpu::PairScores scores, Settings settings, Beside beside,
           std::shared_ptr<LastAllocate> last)
      : resource_(std::move(resource)),
        scores_(std::move(scores)),
        settings_(std::move(settings)),
        beside_(std::move(beside)),
        last_(std::move(last)) {}

  [[nodiscard]] Result<kubelet::Allocation> Allocate(
      const std::vector<std::string>& ids) const override {
    last_->Note(RealClock().Now());
    auto beside = beside_;
    if (settings_.pass_device_specs) {
      for (const auto& node : ControlNodes()) {
        if (gpu::HasNode(settings_.driver.dev_root_here, node)) {
          beside.control_nodes.insert(node);
        }
      }
    }
    return device_plugin::Allocate(resource_, settings_, beside, ids);
  }
  [[nodiscard]] Result<std::vector<std::string>> Prefer(
      const kubelet::PreferredRequest& request) const override {
    return device_plugin::Prefer(resource_, scores_, settings_.shared_policy, request);
  }

 private:
  const Resource resource_;
  const gpu::PairScores scores_;
  const Settings settings_;
  const Beside beside_;
  const std::shared_ptr<LastAllocate> last_;
};

}  // namespace

kubelet::PluginResource Offer(const Resource& resource, const gpu::GpuSet& set,
                              const Settings& settings, Beside beside,
                              std::shared_ptr<LastAllocate> last) {
  return {.name = resource.name,
          .endpoint = resource.endpoint,
          .devices = resource.devices,
          .allocator = std::make_shared<Snapshot>(resource, gpu::ScoresFor(resource.units, set),
                                                  settings, std::move(beside), std::move(last))};
}

void TakeHealth(const std::vector<Resource>& now, std::vector<kubelet::PluginResource>& served) {
  std::set<std::string_view> healthy;
  for (const auto& resource : now) {
    for (const auto& device : resource.devices) {
      if (device.healthy) {
        healthy.insert(gpu::UuidOf(device.id));
      }
    }
  }
  for (auto& resource : served) {
    for (auto& device : resource.devices) {
      device.healthy = healthy.contains(gpu::UuidOf(device.id));
    }
  }
}

}  // namespace gantry::device_plugin
