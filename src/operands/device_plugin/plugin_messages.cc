// SPDX-License-Identifier: Apache-2.0
// What does each message to the plugin change? It updates the members for the known state and the
// pending work; the steps of plugin.cc and plugin_serve.cc do the rest.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/device_nodes.h"
#include "gpu/health_news.h"
#include "operands/device_plugin/cdi_file.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

// The pause after GPUs could not be read, or NVML could not be opened.
constexpr std::chrono::seconds kLookAgain{10};
// MIG devices are made one after the other.
constexpr std::chrono::milliseconds kSettle{200};

}  // namespace

void Plugin::TakeMessages() {
  for (auto& message : mailbox_.Take()) {
    std::visit([this](auto& one) { On(std::move(one)); }, message);
  }
}

void Plugin::OnPaths(const std::vector<std::string>& changed) {
  for (const auto& path : changed) {
    status_changed_ = status_changed_ || path == status_files_.directory();
    owners_changed_ = owners_changed_ || path == owners_reader_.path();
    config_changed_ = config_changed_ || path == agent::ConfigPathToWatch(flags_);
    if (path == CdiPath(flags_.cdi_dir) ||
        path == CdiPathOf(flags_.cdi_dir, flags_.cuda_cdi_device) || hook_watched_.contains(path)) {
      cdi_changed_ = true;
      offer_changed_ = true;
    }
    offer_changed_ = offer_changed_ || path == mps_watched_;
    if (path != place_.here &&
        std::ranges::find(places_, path, &KubeletPlace::here) != places_.end()) {
      FollowKubelet();
    }
    if (path == gpu::CapabilityNodes(monitored_.dev_root_here)) {
      look_at_ = RealClock().Now() + kSettle;
    }
    const std::string dev = JoinPath(monitored_.dev_root_here, "dev");
    if (path == dev && gpu::HasNewNode(gpu::GpuNodes(dev), gpu_nodes_)) {
      look_at_ = RealClock().Now() + kSettle;
    }
  }
}

void Plugin::On(gpu::GpusFound found) {
  const auto now = RealClock().Now();
  if (awaited_look_ && found.look >= *awaited_look_) {
    awaited_look_.reset();
    returning_.clear();
    offer_changed_ = true;
  }
  std::set<std::string> held;
  for (const auto& [uuid, owner] : Withheld()) {
    held.insert(uuid);
  }
  gpu::KeepHeld(set_, held, found.set);
  if (!found.set.failed.empty()) {
    look_at_ = now + kLookAgain;
  }
  for (const auto& failed : found.set.failed) {
    const auto sentence = format("GPU {}{}{} can't be read: {}", failed.index,
                                 failed.uuid.empty() ? "" : " ", failed.uuid, failed.reason);
    if (unreadable_.insert(sentence).second) {
      log::Warning("{}", sentence);
      Report(true, reasons::kGpuUnreadable, sentence);
    }
  }
  if (found.set.failed.empty()) {
    unreadable_.clear();
    wait_error_.clear();
  }
  const auto unreadable =
      set_ ? gpu::KeepUnreadable(*set_, found.set) : std::vector<gpu::FailedGpu>();
  if (found.set != set_) {
    log::Info("{} GPUs, driver {}", found.set.gpus.size(), found.set.driver_version);
    set_ = std::move(found.set);
    health_.Track(set_->gpus);
    probed_ = now;
    offer_changed_ = true;
    cdi_changed_ = true;
  }
  for (const auto& gpu : unreadable) {
    OnHealth(health_.OnProbe(gpu.uuid, gantry::Fail(ErrorKind::kUnavailable, gpu.reason), now));
  }
}

void Plugin::On(gpu::GpusMissing missing) {
  log::Error("no GPU can be offered: {}", missing.error.message);
  Report(true, reasons::kNvmlNotUsable, missing.error.message);
  if (settings_ && settings_->fail_on_init_error && !set_) {
    exit_ = 1;
    return;
  }
  look_at_ = RealClock().Now() + kLookAgain;
  // The driver's root may be mounted by then.
  config_changed_ = config_changed_ || !set_;
}

void Plugin::On(const gpu::GpusChanged& /*changed*/) {
  log::Info("MIG devices have changed");
  look_at_ = RealClock().Now() + kSettle;
}

void Plugin::On(const gpu::WaitFailed& failed) {
  if (std::exchange(wait_error_, failed.error.message) != failed.error.message) {
    log::Warning("events of the GPUs are interrupted: {}", failed.error.message);
  }
  // Each GPU is probed at once to find which one it is.
  probed_ = SteadyTime{};
}

void Plugin::On(const gpu::XidEvent& event) {
  log::Warning("XID {} on {}", event.xid,
               event.gpu_uuid.empty() ? "a GPU that is not known" : event.gpu_uuid);
  const auto changes = health_.OnXid(event, RealClock().Now());
  if (!changes.empty()) {
    probed_ = SteadyTime{};
  }
  OnHealth(changes);
}

void Plugin::On(const gpu::Probed& probed) {
  for (const auto& answer : probed.answers) {
    OnHealth(health_.OnProbe(answer.uuid, answer.status, RealClock().Now()));
  }
}

void Plugin::OnHealth(const std::vector<gpu::HealthChange>& changes) {
  for (const auto& change : changes) {
    offer_changed_ = offer_changed_ || gpu::InService(change.from) != gpu::InService(change.to);
    if (change.to == gpu::Health::kHealthy) {
      // Its events must be registered again, and it may have other MIG devices.
      look_at_ = RealClock().Now();
    }
    const gpu::HealthNews news = gpu::NewsOf(change);
    gpu::Log(news);
    if (news.event != nullptr) {
      Report(news.level != gpu::HealthNews::Level::kInfo, *news.event, news.message);
    }
  }
}

void Plugin::On(const kubelet::PluginEvent& event) {
  using What = kubelet::PluginEvent::What;
  switch (event.what) {
    case What::kRegistered:
      register_error_.clear();
      log::Info("{} is registered with the kubelet", event.resource);
      return;
    case What::kNoKubelet:
      log::Warning("{}", NoKubelet(places_, BaseName(flags_.kubelet_socket)));
      return;
    case What::kRegisterFailed:
      // Retried, but reported once.
      if (std::exchange(register_error_, event.error.message) != event.error.message) {
        log::Warning("{} is not registered yet with the kubelet at {}: {}", event.resource,
                     place_.host, event.error.message);
      }
      return;
    case What::kDropped:
      log::Warning("{}: {}", event.resource, event.error.message);
      return;
    case What::kSuperseded:
      log::Info("{}: another plugin has taken over", event.resource);
      return;
    case What::kFailed:
      if (event.resource.empty()) {
        // This container's mount still shows the removed folder.
        Fail(event.error.message);
      } else {
        log::Error("{} can't be served: {}", event.resource, event.error.message);
      }
      return;
  }
}

}  // namespace gantry::device_plugin
