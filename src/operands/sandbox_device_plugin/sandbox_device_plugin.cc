// SPDX-License-Identifier: Apache-2.0
// When does the kubelet get another list of devices for virtual machines? When a PCI or mediated
// device comes, goes or changes its driver, when a node in /dev/vfio comes or goes, and at the
// start. The kubelet's restarts are the plugin host's matter.
#include "operands/sandbox_device_plugin/sandbox_device_plugin.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/flags.h"
#include "agent/loop.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/signals.h"
#include "host/uevents.h"
#include "host/watch.h"
#include "kubelet/device_plugin/plugin_host.h"
#include "operands/sandbox_device_plugin/allocate.h"
#include "operands/sandbox_device_plugin/gather.h"
#include "operands/sandbox_device_plugin/preferred.h"
#include "operands/sandbox_device_plugin/resources.h"
#include "policy/names.h"

namespace gantry::sandbox_device_plugin {
namespace {

constexpr char kProgram[] = "nvidia-kubevirt-gpu-device-plugin";
constexpr std::chrono::milliseconds kSettle(100);
// Without events of the kernel.
constexpr std::chrono::seconds kLookAgain(5);

struct Flags {
  Places places;
  std::string kubelet_folder = names::kDevicePluginDir;
};

class Answers final : public kubelet::Allocator {
 public:
  Answers(Resource resource, DeviceNodes nodes)
      : resource_(std::move(resource)), nodes_(std::move(nodes)) {}
  [[nodiscard]] Result<kubelet::Allocation> Allocate(
      const std::vector<std::string>& ids) const override {
    return sandbox_device_plugin::Allocate(resource_, nodes_, ids);
  }
  [[nodiscard]] Result<std::vector<std::string>> Prefer(
      const kubelet::PreferredRequest& request) const override {
    return sandbox_device_plugin::Prefer(resource_, request);
  }

 private:
  const Resource resource_;
  const DeviceNodes nodes_;
};

kubelet::PluginResource Offered(const Resource& resource, const DeviceNodes& nodes) {
  kubelet::PluginResource offered{.name = resource.name,
                                  .endpoint = SocketOf(resource),
                                  .devices = {},
                                  .allocator = std::make_shared<Answers>(resource, nodes)};
  for (const Device& device : resource.devices) {
    kubelet::Device& one = offered.devices.emplace_back();
    one.id = device.id;
    one.healthy = device.fault.empty();
    if (device.numa_node >= 0) {
      one.numa_nodes = {device.numa_node};
    }
  }
  return offered;
}

void OnEvent(const kubelet::PluginEvent& event) {
  using What = kubelet::PluginEvent::What;
  switch (event.what) {
    case What::kRegistered:
      log::Info("{} is registered", event.resource);
      break;
    case What::kNoKubelet:
      log::Warning("no kubelet listens yet");
      break;
    case What::kSuperseded:
      log::Info("another plugin serves {}", event.resource);
      break;
    case What::kRegisterFailed:
    case What::kDropped:
    case What::kFailed:
      log::Warning("{}: {}", event.resource.empty() ? "all resources" : event.resource,
                   event.error.message);
      break;
  }
}

class Plugin {
 public:
  Plugin(Flags flags, host::Signals& signals, host::Watcher watcher)
      : flags_(std::move(flags)),
        loop_({.failure = "the devices for virtual machines are not known", .settle = kSettle},
              signals, std::move(watcher)) {}

  int Run();

 private:
  Status Look();
  Status Serve(std::vector<Resource> resources, DeviceNodes nodes);
  static void Tell(const std::vector<Resource>& resources);

  const Flags flags_;
  agent::Loop loop_;
  std::optional<host::Uevents> uevents_;
  std::unique_ptr<kubelet::PluginHost> host_;
  std::vector<Resource> resources_;
  DeviceNodes nodes_;
};

void Plugin::Tell(const std::vector<Resource>& resources) {
  for (const Resource& resource : resources) {
    for (const Device& device : resource.devices) {
      if (device.fault.empty()) {
        log::Info("{}: {}", resource.name, device.id);
      } else {
        log::Warning("{}: {} can't be had: {}", resource.name, device.id, device.fault);
      }
    }
  }
  if (resources.empty()) {
    log::Info("no device for virtual machines yet");
  }
}

Status Plugin::Serve(std::vector<Resource> resources, DeviceNodes nodes) {
  const bool first = host_ == nullptr;
  if (first) {
    TRY_ASSIGN(host_,
               kubelet::PluginHost::Start({.folder = flags_.kubelet_folder, .on_event = OnEvent}));
  }
  if (!first && resources == resources_ && nodes == nodes_) {
    return {};
  }
  Tell(resources);
  std::vector<kubelet::PluginResource> offered;
  offered.reserve(resources.size());
  for (const Resource& resource : resources) {
    offered.push_back(Offered(resource, nodes));
  }
  host_->Serve(std::move(offered));
  resources_ = std::move(resources);
  nodes_ = std::move(nodes);
  return {};
}

Status Plugin::Look() {
  TRY_ASSIGN(const Node node, ReadNode(flags_.places));
  return Serve(ResourcesOf(node, resources_), ReadDeviceNodes(flags_.places, node));
}

int Plugin::Run() {
  if (auto uevents = host::Uevents::Open(); uevents.has_value()) {
    uevents_ = *std::move(uevents);
  } else {
    log::Warning("{}; devices are looked for every {} s", uevents.error().message,
                 kLookAgain.count());
  }
  for (const std::string& path :
       {JoinPath(flags_.places.host_root, "dev/vfio"), flags_.kubelet_folder}) {
    if (const Status added = loop_.watcher().Add(path, host::Watcher::For::kExistence);
        !added.has_value()) {
      log::Error("{}", added.error().message);
      return 1;
    }
  }
  const auto next = [this](const Status& looked) {
    const bool events = uevents_.has_value() && looked.has_value();
    return RealClock().Now() +
           (events ? std::chrono::duration_cast<std::chrono::seconds>(loop_.verify_after())
                   : kLookAgain);
  };
  return loop_.Run([this] { return Look(); }, next,
                   {.fd = uevents_.has_value() ? uevents_->fd() : -1,
                    .happened = [this] { return uevents_.has_value() && uevents_->TakeDevices(); }},
                   [] { return false; });
}

Result<std::optional<Flags>> ParseFlags(int argc, const char* const* argv) {
  agent::FlagSet set(kProgram,
                     "Offers this node's GPUs for virtual machines to the kubelet, for KubeVirt.");
  Flags flags;
  set.Value("--host-root", flags.places.host_root, {"HOST_ROOT"}, "the host's root, mounted here");
  set.Value("--sys", flags.places.sys, {}, "sysfs");
  set.Value("--pci-ids", flags.places.pci_ids, {}, "the PCI database that names resources");
  set.Value("--kubelet-folder", flags.kubelet_folder, {}, "of the kubelet's device plugins");
  TRY_ASSIGN(const bool run, set.Parse(argc, argv));
  return run ? std::optional(flags) : std::nullopt;
}

int RunPlugin(Flags flags) {
  host::Signals signals;
  Result<host::Watcher> watcher = host::Watcher::Create();
  if (!watcher.has_value()) {
    log::Error("{}", watcher.error().message);
    return 1;
  }
  return Plugin(std::move(flags), signals, *std::move(watcher)).Run();
}

}  // namespace

int RunSandboxDevicePlugin(int argc, char** argv) {
  return agent::RunWith(kProgram, ParseFlags(argc, argv), RunPlugin);
}

}  // namespace gantry::sandbox_device_plugin
