// SPDX-License-Identifier: Apache-2.0
// Which GPUs does another program of this node have for now? They are neither published nor
// prepared; the owner waits until the API server has the smaller slices and no claim has one of its
// GPUs, and after that until they are published again.
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "operands/dra_driver/driver.h"
#include "operands/dra_driver/owned_devices.h"

namespace gantry::dra_driver {
namespace {

// A scheduler allocates from the slices that it has seen; its claim is stored by then.
constexpr std::chrono::seconds kSchedulerSees{1};

}  // namespace

void Driver::TakeOwners() {
  if (!std::exchange(owners_changed_, false)) {
    return;
  }
  auto taken = owners_reader_.Take();
  if (!taken.has_value()) {
    Warn("DRADeviceNotOffered",
         format("{}; {}; remove the file, or restart the program that writes it",
                taken.error().message,
                owners_known_ ? "the GPUs are offered as before"
                              : "no GPU is offered, because one may be in change"));
    return;
  }
  owners_known_ = true;
  std::optional<gpu::Owners>& owners = *taken;
  if (!owners.has_value()) {
    return;
  }
  const gpu::Owners before = std::exchange(owners_, *std::move(owners));
  for (const auto& [uuid, owner] : before) {
    if (!owners_.contains(uuid)) {
      log::Info("GPU {} is back from {}", uuid, owner.program);
      returning_.emplace(uuid, owner);
      look_at_ = RealClock().Now();
    }
  }
  for (const auto& [uuid, owner] : owners_) {
    if (!before.contains(uuid)) {
      log::Info("GPU {} is withdrawn: {}: {}", uuid, owner.program, owner.reason);
    }
    returning_.erase(uuid);
  }
  const bool was_exclusive = gpu::AnyExclusive(before);
  const bool is_exclusive = gpu::AnyExclusive(owners_);
  if (was_exclusive && !is_exclusive) {
    look_at_ = RealClock().Now();
  }
  if (is_exclusive && !was_exclusive && monitor_ != nullptr) {
    driver_closes_ = true;
    monitor_->CloseDriver();
  }
  driver_closes_ = driver_closes_ && is_exclusive;
  claims_->SetOwners(Withheld());
  owners_untold_ = true;
  tell_at_ = RealClock().Now() + (owners_.empty() ? std::chrono::seconds(0) : kSchedulerSees);
  holding_.clear();
}

// Also a GPU that came back, until it is seen as it is now.
gpu::Owners Driver::Withheld() const {
  gpu::Owners withheld = owners_;
  withheld.insert(returning_.begin(), returning_.end());
  return withheld;
}

Result<std::vector<std::string>> Driver::ClaimsOnOwned() const {
  std::vector<std::string> holding;
  const std::set<std::string> names = DevicesOn(owners_, gpus_->set, gpus_->devices);
  if (names.empty()) {
    return holding;
  }
  TRY(client_->List(kube::kinds::kResourceClaim, {}, [&](const Json& claim) {
    if (HasDevice(claim, flags_.node_name, names)) {
      holding.push_back(kube::KeyOf(claim).Text());
    }
  }));
  return holding;
}

// CatchUp has published what the owners ask for, unless it tries again.
void Driver::TellOwners() {
  const auto now = RealClock().Now();
  const bool published =
      slices_.synced() && !retry_at_.has_value() && (gpus_ != nullptr || slices_.empty());
  const bool looked = returning_.empty() || gpu::AnyExclusive(owners_) || monitor_ == nullptr;
  if (!owners_untold_ || !published || !looked || driver_closes_ || !tell_at_.has_value() ||
      now < *tell_at_) {
    return;
  }
  if (gpus_ != nullptr) {
    const auto holding = ClaimsOnOwned();
    if (!holding.has_value() || !holding->empty()) {
      tell_at_ = now + kSchedulerSees;
      std::vector<std::string> claims =
          holding.has_value() ? *holding : std::vector{holding.error().message};
      if (std::exchange(holding_, claims) != claims) {
        log::Warning("{} waits for GPUs that claims have: {}", owners_.begin()->second.program,
                     Join(claims, ", "));
      }
      return;
    }
  }
  tell_at_.reset();
  owners_reader_.CarriedOut();
  owners_untold_ = false;
}

}  // namespace gantry::dra_driver
