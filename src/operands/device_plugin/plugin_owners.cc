// SPDX-License-Identifier: Apache-2.0
// Which GPUs does another program of this node have for now? They are not offered, and their
// properties stay as they were; the owner waits until the kubelet has the smaller list, and after
// that until it has the larger one again.
#include <utility>

#include "base/log.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

// From the answer to Allocate until the kubelet's list of pods has the devices: it enters them
// before it does anything else with the answer.
constexpr std::chrono::milliseconds kUntilPodIsListed{250};

}  // namespace

void Plugin::TakeOwners() {
  if (!std::exchange(owners_changed_, false)) {
    return;
  }
  auto taken = owners_reader_.Take();
  if (!taken) {
    const auto message = format("{}; {}; remove the file, or restart the program that writes it",
                                taken.error().message,
                                owners_known_ ? "the GPUs are offered as before"
                                              : "no GPU is offered, because one may be in change");
    log::Error("{}", message);
    Report(true, reasons::kGpuNotOffered, message);
    return;
  }
  owners_known_ = true;
  const std::optional<gpu::Owners>& now = *taken;
  if (!now.has_value()) {
    return;
  }
  const gpu::Owners before = std::exchange(owners_, *now);
  for (const auto& [uuid, owner] : owners_) {
    if (!before.contains(uuid)) {
      log::Info("GPU {} is withdrawn: {}: {}", uuid, owner.program, owner.reason);
    }
  }
  for (const auto& [uuid, owner] : before) {
    if (!owners_.contains(uuid)) {
      log::Info("GPU {} is back from {}", uuid, owner.program);
      look_for_owners_ = true;
      returning_.emplace(uuid, owner);
    }
  }
  const bool was_exclusive = gpu::AnyExclusive(before);
  const bool is_exclusive = gpu::AnyExclusive(owners_);
  if (is_exclusive && !was_exclusive && monitor_) {
    driver_closes_ = true;
    monitor_->CloseDriver();
  }
  driver_closes_ = driver_closes_ && is_exclusive;
  if (look_for_owners_ || (was_exclusive && !is_exclusive)) {
    look_at_ = RealClock().Now();
    // What happened while the driver was closed here.
    probed_ = SteadyTime{};
  }
  offer_changed_ = true;
  owners_untold_ = true;
}

// What is not offered: also a GPU that came back, until it is seen as it is now.
gpu::Owners Plugin::Withheld() const {
  gpu::Owners withheld = owners_;
  withheld.insert(returning_.begin(), returning_.end());
  return withheld;
}

// When what the owners ask for is done: nothing of it is pending, and the kubelet lists the pod of
// the last Allocate, which may be of the list before. Nothing: it is told, or something is pending.
std::optional<SteadyTime> Plugin::OwnersDue() const {
  const bool offered = !served_ || (!offer_changed_ && !serve_at_ && lists_served_ == lists_);
  const bool seen = !awaited_look_ && (!look_for_owners_ || gpu::AnyExclusive(owners_));
  const bool looked = !monitor_ || (seen && !driver_closes_);
  return owners_untold_ && offered && looked
             ? std::optional(last_allocate_->at() + kUntilPodIsListed)
             : std::nullopt;
}

void Plugin::TellOwners() {
  if (const auto due = OwnersDue(); due && *due <= RealClock().Now()) {
    owners_reader_.CarriedOut();
    owners_untold_ = false;
  }
}

void Plugin::On(const gpu::DriverClosed& /*closed*/) { driver_closes_ = false; }

void Plugin::On(const ListsServed& served) { lists_served_ = served.number; }

}  // namespace gantry::device_plugin
