// SPDX-License-Identifier: Apache-2.0
// Which devices for virtual machines does this node have? From sysfs and the host's device nodes.
#include "operands/sandbox_device_plugin/gather.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/paths.h"
#include "base/text.h"
#include "gpu/vfio.h"

namespace gantry::sandbox_device_plugin {
namespace {

std::vector<std::string> NamesIn(const std::string& folder) {
  return ListDirectory(folder).value_or(std::vector<std::string>());
}

std::string TextIn(const std::string& folder, const char* file) {
  return std::string(Trim(ReadFile(JoinPath(folder, file)).value_or("")));
}

int LinkedNumber(const std::string& path) {
  std::error_code none;
  const std::string name = std::filesystem::read_symlink(path, none).filename();
  return static_cast<int>(ParseInt(name).value_or(-1));
}

std::vector<MediatedDevice> ReadMediated(const Places& places) {
  std::vector<MediatedDevice> devices;
  const std::string folder = JoinPath(places.sys, "bus/mdev/devices");
  for (const std::string& uuid : NamesIn(folder)) {
    const std::string device = JoinPath(folder, uuid);
    // Below its parent: "../<uuid>" of the resolved path.
    std::error_code none;
    const std::string real = std::filesystem::canonical(device, none);
    const std::string parent = ParentOf(real);
    // A parent of another vendor, or one that is no PCI function.
    if (TextIn(parent, "vendor") != "0x10de") {
      continue;
    }
    const auto numa_node = ParseInt(TextIn(parent, "numa_node"));
    devices.push_back({.uuid = uuid,
                       .type = TextIn(JoinPath(device, "mdev_type"), "name"),
                       .group = LinkedNumber(JoinPath(device, "iommu_group")),
                       .numa_node = static_cast<int>(numa_node.value_or(-1))});
  }
  return devices;
}

}  // namespace

Result<Node> ReadNode(const Places& places) {
  Node node;
  TRY_ASSIGN(node.functions, host::ListPci(places.sys));
  const std::string database = ReadFile(places.pci_ids).value_or("");
  for (const host::PciFunction& function : node.functions) {
    if (function.vendor != host::kNvidiaVendor || node.names.contains(function.device)) {
      continue;
    }
    if (auto name = gpu::NameInPciIds(database, function.vendor, function.device)) {
      node.names[function.device] = *std::move(name);
    }
  }
  node.mediated = ReadMediated(places);
  for (const std::string& name : NamesIn(JoinPath(places.host_root, "dev/vfio"))) {
    node.groups.insert(name);
  }
  return node;
}

DeviceNodes ReadDeviceNodes(const Places& places, const Node& node) {
  DeviceNodes nodes;
  nodes.iommufd = access(JoinPath(places.host_root, "dev/iommu").c_str(), F_OK) == 0;
  for (const host::PciFunction& function : node.functions) {
    if (function.vendor == host::kNvidiaVendor && gpu::IsVfioDriver(function.driver)) {
      const std::string folder =
          format("{}/bus/pci/devices/{}/vfio-dev", places.sys, function.address);
      for (const std::string& name : NamesIn(folder)) {
        nodes.of_groups[function.iommu_group].push_back(name);
      }
    }
  }
  const std::string memories = JoinPath(places.sys, "class/egm");
  for (const std::string& name : NamesIn(memories)) {
    std::string gpus = TextIn(JoinPath(memories, name), "gpu_devices");
    std::ranges::replace_if(gpus, [](char letter) { return letter == '\n' || letter == ','; }, ' ');
    for (const std::string& gpu : Split(gpus, ' ')) {
      if (!gpu.empty()) {
        nodes.extended_memory["/dev/" + name].push_back(gpu);
      }
    }
  }
  return nodes;
}

}  // namespace gantry::sandbox_device_plugin
