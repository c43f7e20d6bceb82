// SPDX-License-Identifier: Apache-2.0
// Which device nodes and files belong to the devices beside a GPU? Found on the node, as NVIDIA's
// Container Toolkit documents them for its CDI modes.
#include "container/special_cdi.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "container/nvidia_cdi.h"

namespace gantry::container {
namespace {

struct Mode {
  std::string name;
  std::vector<std::string> nodes;  // patterns below the device root
  std::vector<std::string> files;  // below the host's root, if they exist
};

const std::vector<Mode>& Modes() {
  static const std::vector<Mode> modes = {
      {"gds", {"/dev/nvidia-fs*"}, {"/run/udev", "/etc/cufile.json"}},
      {"mofed", {"/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"}, {}},
      {"gdrcopy", {"/dev/gdrdrv"}, {}},
      {"nvswitch", {"/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch*"}, {}},
      {"imex", {"/dev/nvidia-caps-imex-channels/channel*"}, {}},
      {"wsl", {"/dev/dxg"}, {}},
  };
  return modes;
}

CdiDeviceNode Node(const DriverPlace& place, const std::string& path) {
  const std::string host_path = JoinPath(place.host_dev_root, path);
  return {path, host_path == path ? "" : host_path};
}

std::vector<std::string> Nodes(const DriverPlace& place, const Mode& mode) {
  std::vector<std::string> nodes;
  for (const std::string& pattern : mode.nodes) {
    const auto found = GlobInRoot(place.dev_root, pattern);
    for (const std::string& path : found.value_or(std::vector<std::string>{})) {
      nodes.push_back(WithoutRoot(place.dev_root, path).value_or(path));
    }
  }
  std::ranges::sort(nodes);
  const auto twice = std::ranges::unique(nodes);
  nodes.erase(twice.begin(), twice.end());
  return nodes;
}

// Windows' driver as WSL shows it: a folder of the driver store for each driver, and libdxcore.
Result<HookWork> AddWslFiles(const DriverPlace& place, CdiEdits& edits) {
  const auto core = GlobInRoot(place.root, "/usr/lib/wsl/lib/libdxcore.so");
  const auto stores = GlobInRoot(place.root, "/usr/lib/wsl/drivers/*/libcuda.so.1.1");
  if (!core || core->empty() || !stores || stores->empty()) {
    return Fail(
        ErrorKind::kNotFound,
        "find the driver of WSL: no libdxcore.so, or no libcuda.so.1.1 in the driver store");
  }
  const auto mount = [&](const std::string& here) {
    const std::string path = WithoutRoot(place.root, here).value_or(here);
    edits.mounts.push_back({JoinPath(place.host_root, path), path, FileMountOptions()});
    return path;
  };
  HookWork work;
  work.folders.push_back(ParentOf(mount(core->front())));
  for (const std::string& cuda : *stores) {
    const std::string store = ParentOf(WithoutRoot(place.root, cuda).value_or(cuda));
    for (const char* pattern : {"*.so*", "*.bin", "*.dll", "nvidia-smi"}) {
      const auto files = GlobInRoot(place.root, JoinPath(store, pattern));
      for (const std::string& file : files.value_or(std::vector<std::string>{})) {
        mount(file);
      }
    }
    work.folders.push_back(store);
    work.links.push_back({JoinPath(store, "nvidia-smi"), "/usr/bin/nvidia-smi"});
  }
  return work;
}

}  // namespace

const std::vector<std::string>& SpecialCdiModes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Mode& mode : Modes()) {
      list.push_back(mode.name);
    }
    return list;
  }();
  return names;
}

std::string SpecialCdiKind(std::string_view vendor, std::string_view mode) {
  return format("{}/{}", vendor, mode == "imex" ? "imex-channel" : mode == "wsl" ? "gpu" : mode);
}

Result<CdiSpec> SpecialCdi(const std::string& name, const std::string& kind,
                           const DriverPlace& place, const HookProgram& hook,
                           const HookSwitches& switches) {
  const auto mode = std::ranges::find(Modes(), name, &Mode::name);
  if (mode == Modes().end()) {
    return Fail(ErrorKind::kInvalid, format("describe devices: mode {} is not known", name));
  }
  const std::vector<std::string> nodes = Nodes(place, *mode);
  if (nodes.empty()) {
    return Fail(ErrorKind::kNotFound, format("describe devices: no {} under {}",
                                             Join(mode->nodes, " or "), place.dev_root));
  }
  CdiSpec spec;
  spec.kind = kind;
  // The image's environment variable must not request all GPUs.
  spec.edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  if (name == "imex") {
    for (const std::string& node : nodes) {
      CdiDevice channel{BaseName(node).substr(std::string_view("channel").size()), {}};
      channel.edits.device_nodes.push_back(Node(place, node));
      spec.devices.push_back(std::move(channel));
    }
    return spec;
  }
  CdiDevice all{"all", {}};
  for (const std::string& node : nodes) {
    all.edits.device_nodes.push_back(Node(place, node));
  }
  for (const std::string& file : mode->files) {
    struct stat info{};
    if (::stat(JoinPath(place.run_root, file).c_str(), &info) == 0) {
      all.edits.mounts.push_back({file, file, FileMountOptions()});
    }
  }
  if (name == "wsl") {
    TRY_ASSIGN(const HookWork work, AddWslFiles(place, all.edits));
    all.edits.hooks = HooksFor(hook, switches, work);
  }
  spec.devices.push_back(std::move(all));
  return spec;
}

void AddAllDevice(CdiSpec& spec) {
  if (std::ranges::find(spec.devices, "all", &CdiDevice::name) != spec.devices.end()) {
    return;
  }
  CdiDevice all{"all", {}};
  for (const CdiDevice& device : spec.devices) {
    AppendEdits(device.edits, all.edits);
  }
  spec.devices.push_back(std::move(all));
}

}  // namespace gantry::container
