// SPDX-License-Identifier: Apache-2.0
// Who answers the kubelet's Allocate and GetPreferredAllocation? An unchanging snapshot of what was
// decided, so that no question waits for a GPU or for a change that is under way.
#include "operands/device_plugin/offer.h"

#include <memory>
#include <utility>

#include "operands/device_plugin/preferred.h"
#include "operands/device_plugin/scores.h"

namespace gantry::device_plugin {
namespace {

class Snapshot : public kubelet::Allocator {
 public:
  Snapshot(Resource resource, PairScores scores, Settings settings, Beside beside)
      : resource_(std::move(resource)),
        scores_(std::move(scores)),
        settings_(std::move(settings)),
        beside_(std::move(beside)) {}

  [[nodiscard]] Result<kubelet::Allocation> Allocate(
      const std::vector<std::string>& ids) const override {
    return device_plugin::Allocate(resource_, settings_, beside_, ids);
  }
  [[nodiscard]] Result<std::vector<std::string>> Prefer(
      const kubelet::PreferredRequest& request) const override {
    return device_plugin::Prefer(resource_, scores_, settings_.shared_policy, request);
  }

 private:
  const Resource resource_;
  const PairScores scores_;
  const Settings settings_;
  const Beside beside_;
};

}  // namespace

kubelet::PluginResource Offer(const Resource& resource, const GpuSet& set, const Settings& settings,
                              Beside beside) {
  return {.name = resource.name,
          .endpoint = resource.endpoint,
          .devices = resource.devices,
          .allocator = std::make_shared<Snapshot>(resource, ScoresFor(resource.units, set),
                                                  settings, std::move(beside))};
}

}  // namespace gantry::device_plugin
