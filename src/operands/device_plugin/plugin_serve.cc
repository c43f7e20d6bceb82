// SPDX-License-Identifier: Apache-2.0
// What must exist before the kubelet gets a list of GPUs? Everything that Allocate responses will
// name: CDI documents, IMEX channels, the MPS control daemon. A missing part delays only the
// devices that need it; the rest is served.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/device_id.h"
#include "gpu/device_nodes.h"
#include "operands/device_plugin/cdi_file.h"
#include "operands/device_plugin/mps_started.h"
#include "operands/device_plugin/offer.h"
#include "operands/device_plugin/plugin.h"

namespace gantry::device_plugin {
namespace {

constexpr std::chrono::seconds kServeAgain{5};

}  // namespace

void Plugin::Serve(const Settings& settings, const gpu::GpuSet& set) {
  if (!owners_known_) {
    return;
  }
  const bool retry = serve_at_ && *serve_at_ <= RealClock().Now();
  if (!std::exchange(offer_changed_, false) && !retry) {
    return;
  }
  serve_at_.reset();
  auto offered = OfferedResources(set, settings, health_.out_of_service(), Withheld());
  for (auto& resource : offered.resources) {
    if (!MpsIsReady(settings, resource)) {
      offered.left_out.push_back(format("{}: its MPS control daemon is not ready", resource.name));
      for (auto& device : resource.devices) {
        device.healthy = device.healthy && !gpu::IsReplica(device.id);
      }
    }
  }
  if (const auto lack = LookAtHook(settings); !lack.empty()) {
    offered.left_out.push_back(lack);
    for (auto& resource : offered.resources) {
      for (auto& device : resource.devices) {
        device.healthy = false;
      }
    }
  }
  if (FindBeside(settings, offered.left_out) && CdiIsWritten(settings, set, offered)) {
    SayLeftOut(offered.left_out);
    if (offered.resources.empty()) {
      log::Warning("this node has no GPU to offer");
    }
    served_.emplace();
    for (const auto& resource : offered.resources) {
      served_->push_back(Offer(resource, set, settings, beside_, last_allocate_));
    }
  } else {
    serve_at_ = RealClock().Now() + kServeAgain;
    if (!served_) {
      return;
    }
    // A wait for new devices must not delay the report of failed old ones.
    TakeHealth(offered.resources, *served_);
  }
  host_->Serve(*served_, [this, number = ++lists_] { mailbox_.Post(ListsServed{number}); });
  SayCondition(set);
}

// Whose program do the documents' hooks call, and does it exist? Returns a message if not: then no
// container with a GPU can start. Without the host's root this is unknown.
std::string Plugin::LookAtHook(const Settings& settings) {
  const auto root = gpu::HostRoot(flags_.host_root);
  const auto& path = settings.cdi_hook_path;
  const bool none =
      std::ranges::find(settings.disabled_hooks, "all") != settings.disabled_hooks.end();
  if (!settings.uses_cdi() || none || root == "/") {
    return "";
  }
  // The links on the way, and their file.
  for (const auto& watched : {JoinPath(root, path), ResolveInRoot(root, path).value_or("")}) {
    if (!watched.empty() && hook_watched_.insert(watched).second) {
      if (auto added = watcher_.Add(watched); !added) {
        log::Warning("{}", added.error().message);
      }
    }
  }
  const auto maker = container::MakerOfHook(root, path);
  if (maker != std::exchange(hook_maker_, maker)) {
    cdi_changed_ = true;
  }
  return maker == container::HookMaker::kAbsent
             ? format(
                   "every GPU: the node has no program {}, which the start of each container "
                   "with a GPU calls; install NVIDIA's Container Toolkit on the node, or set "
                   "toolkit.enabled=true in the ClusterPolicy",
                   path)
             : "";
}

bool Plugin::FindBeside(const Settings& settings, std::vector<std::string>& left_out) {
  std::vector<int> channels;
  for (const int channel : settings.imex_channels) {
    if (gpu::HasNode(settings.driver.dev_root_here, ImexNode(channel))) {
      channels.push_back(channel);
    } else if (settings.imex_required) {
      SayLeftOut({format("every GPU: IMEX channel {} is required and there is no {}", channel,
                         ImexNode(channel))});
      return false;
    } else {
      left_out.push_back(format("IMEX channel {}: there is no {}", channel, ImexNode(channel)));
    }
  }
  // A channel that appeared late is in no document yet, but the container runtime would get its
  // name.
  cdi_changed_ = cdi_changed_ || channels != beside_.imex_channels;
  beside_.imex_channels = std::move(channels);
  return true;
}

bool Plugin::CdiIsWritten(const Settings& settings, const gpu::GpuSet& set,
                          const Resources& offered) {
  if (!settings.uses_cdi() || !cdi_changed_ || offered.resources.empty()) {
    return true;
  }
  std::vector<Unit> units;
  for (const auto& resource : offered.resources) {
    units.insert(units.end(), resource.units.begin(), resource.units.end());
  }
  auto cuda = EditsOfDevice(flags_.cdi_dir, flags_.cuda_cdi_device);
  if (!cuda) {
    log::Warning("GPUs come without a CUDA toolkit: {}", cuda.error().message);
  }
  const container::HookProgram hook{settings.cdi_hook_path,
                                    hook_maker_ == container::HookMaker::kGantry};
  auto written = WriteCdi(flags_.cdi_dir, gpu::HostRoot(flags_.host_root), settings, hook, set,
                          units, beside_.imex_channels, cuda.value_or(container::CdiEdits{}));
  if (!written) {
    log::Error("no GPU can be offered by CDI: {}", written.error().message);
    Report(true, reasons::kCdiDocumentNotWritten, written.error().message);
    return false;
  }
  if (!written->paths.empty()) {
    log::Info("wrote {}", Join(written->paths, ", "));
  }
  beside_.modes = std::move(written->modes);
  cdi_changed_ = false;
  return true;
}

bool Plugin::MpsIsReady(const Settings& settings, const Resource& resource) {
  if (settings.sharing.strategy != policy::SharingStrategy::kMps || !resource.has_shares()) {
    return true;
  }
  const auto folder =
      JoinPath(JoinPath(gpu::HostRoot(flags_.host_root), settings.mps_root), resource.name);
  if (mps_watched_ != folder) {
    mps_watched_ = folder;
    if (auto watched = watcher_.Add(folder); !watched) {
      log::Error("{}", watched.error().message);
      serve_at_ = RealClock().Now() + kServeAgain;
    }
  }
  return MpsIsStarted(folder);
}

void Plugin::SayLeftOut(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) {
    if (std::ranges::find(left_out_, sentence) == left_out_.end()) {
      log::Warning("not offered: {}", sentence);
      Report(true, reasons::kGpuNotOffered, sentence);
    }
  }
  left_out_ = sentences;
}

void Plugin::SayCondition(const gpu::GpuSet& set) {
  auto out_of_service = health_.reasons();
  for (const auto& gpu : set.failed) {
    out_of_service.emplace(gpu.uuid.empty() ? format("GPU {}", gpu.index) : gpu.uuid, gpu.reason);
  }
  auto condition = agent::ConditionOf(out_of_service);
  if (!flags_.node_name.empty() && condition_ != condition) {
    condition_writer_.Set(condition);
    condition_ = std::move(condition);
  }
}

}  // namespace gantry::device_plugin
