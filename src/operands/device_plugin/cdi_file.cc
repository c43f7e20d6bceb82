// SPDX-License-Identifier: Apache-2.0
// How does the container runtime learn what a GPU's name in an Allocate answer stands for? By a CDI
// document, which must be there before the first device is offered.
#include "operands/device_plugin/cdi_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "container/nvidia_cdi.h"
#include "host/files.h"
#include "operands/device_plugin/allocate.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

container::DriverPlace PlaceOf(const Settings& settings, const GpuSet& set,
                               const std::string& host_root) {
  return {.root = settings.driver.root_here,
          .host_root = settings.driver.root,
          .dev_root = settings.driver.dev_root_here,
          .host_dev_root = settings.driver.dev_root,
          .sys_root = host_root,
          .run_root = host_root,
          .version = set.driver_version,
          .cuda_version = set.cuda_version};
}

std::vector<container::CdiDeviceNode> NodesOf(const std::vector<std::string>& paths,
                                              const container::DriverPlace& place) {
  std::vector<container::CdiDeviceNode> nodes;
  for (const auto& path : paths) {
    const auto host_path = JoinPath(place.host_dev_root, path);
    nodes.push_back({path, host_path == path ? "" : host_path});
  }
  return nodes;
}

std::vector<container::CdiGpu> WholeGpus(const GpuSet& set, const std::vector<Unit>& units) {
  std::vector<container::CdiGpu> gpus;
  for (const auto& gpu : set.gpus) {
    if (std::ranges::find(units, gpu.uuid, &Unit::uuid) != units.end()) {
      gpus.push_back({.uuid = gpu.uuid,
                      .index = static_cast<int>(gpu.index),
                      .minor = static_cast<int>(gpu.minor),
                      .pci_bus_id = gpu.pci_bus_id,
                      .nodes = {}});
    }
  }
  return gpus;
}

void AddMigDevices(const std::vector<Unit>& units, const Settings& settings,
                   const container::DriverPlace& place, container::CdiSpec& spec) {
  for (const auto& unit : units) {
    if (unit.is_mig()) {
      container::CdiDevice device{
          settings.id_strategy == IdStrategy::kUuid ? unit.uuid : unit.index, {}};
      device.edits.device_nodes = NodesOf(unit.nodes, place);
      spec.devices.push_back(std::move(device));
    }
  }
  std::ranges::sort(spec.devices, {}, &container::CdiDevice::name);
}

// What works beside a GPU: device nodes, and files of the host where they are there.
struct Mode {
  const char* device_class;
  std::vector<std::string> nodes;  // patterns
  std::vector<std::string> files;
};

const std::map<std::string, Mode>& Modes() {
  static const std::map<std::string, Mode> modes = {
      {"gds", {"gds", {"/dev/nvidia-fs*"}, {"/run/udev", "/etc/cufile.json"}}},
      {"gdrcopy", {"gdrcopy", {"/dev/gdrdrv"}, {}}},
      {"mofed", {"mofed", {"/dev/infiniband/uverbs*", "/dev/infiniband/rdma_cm"}, {}}},
  };
  return modes;
}

// One device `all`; nothing if the node has no such device.
std::optional<container::CdiSpec> SpecOf(const Mode& mode, const container::DriverPlace& place) {
  std::vector<std::string> paths;
  for (const auto& pattern : mode.nodes) {
    for (const auto& path :
         GlobInRoot(place.dev_root, pattern).value_or(std::vector<std::string>())) {
      paths.push_back(WithoutRoot(place.dev_root, path).value_or(path));
    }
  }
  if (paths.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(paths);
  container::CdiDevice all{"all", {}};
  all.edits.device_nodes = NodesOf(paths, place);
  for (const auto& file : mode.files) {
    const auto info = host::Inspect(JoinPath(place.run_root, file));
    if (info && info->kind != host::FileKind::kAbsent) {
      all.edits.mounts.push_back({file, file, {"ro", "nosuid", "nodev", "rbind", "rprivate"}});
    }
  }
  container::CdiSpec spec;
  spec.kind = format("{}/{}", names::kDevicePluginCdiVendor, mode.device_class);
  spec.devices.push_back(std::move(all));
  return spec;
}

container::CdiSpec ImexSpec(const std::vector<int>& channels, const container::DriverPlace& place) {
  container::CdiSpec spec;
  spec.kind = format("{}/imex-channel", names::kDevicePluginCdiVendor);
  for (const int channel : channels) {
    container::CdiDevice device{format("{}", channel), {}};
    device.edits.device_nodes = NodesOf({ImexNode(channel)}, place);
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

class Writer {
 public:
  Writer(std::string folder, CdiWritten& written) : folder_(std::move(folder)), written_(written) {}

  Status Write(const container::CdiSpec& spec) {
    const auto path = JoinPath(folder_, container::CdiFileStem(spec.kind) + ".json");
    TRY_ASSIGN(const bool differs, host::WriteIfDifferent(path, container::CdiText(spec)));
    if (differs) {
      written_.paths.push_back(path);
    }
    return {};
  }

 private:
  const std::string folder_;
  CdiWritten& written_;
};

}  // namespace

std::string CdiPath(const std::string& cdi_dir) {
  return JoinPath(cdi_dir, container::CdiFileStem(names::kDevicePluginCdiKind) + ".json");
}

Result<CdiWritten> WriteCdi(const std::string& cdi_dir, const std::string& host_root,
                            const Settings& settings, const GpuSet& set,
                            const std::vector<Unit>& units, const std::vector<int>& imex_channels) {
  CdiWritten written;
  Writer writer(cdi_dir, written);
  container::CdiInput input;
  input.driver = PlaceOf(settings, set, host_root);
  input.kind = names::kDevicePluginCdiKind;
  input.gpus = WholeGpus(set, units);
  input.naming = {settings.id_strategy == IdStrategy::kUuid ? container::CdiNaming::kUuid
                                                            : container::CdiNaming::kIndex};
  input.hook_path = settings.cdi_hook_path;
  input.disabled_hooks = settings.disabled_hooks;
  TRY_ASSIGN(auto gpus, container::NvidiaCdi(input));
  AddMigDevices(units, settings, input.driver, gpus);
  TRY(host::MakeDirectories(cdi_dir));
  TRY(writer.Write(gpus));
  for (const auto& mode : settings.modes) {
    if (const auto spec = SpecOf(Modes().at(mode), input.driver)) {
      TRY(writer.Write(*spec));
      written.modes.insert(mode);
    }
  }
  if (!imex_channels.empty()) {
    TRY(writer.Write(ImexSpec(imex_channels, input.driver)));
  }
  return written;
}

}  // namespace gantry::device_plugin
