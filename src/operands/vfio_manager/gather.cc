// SPDX-License-Identifier: Apache-2.0
// Which PCI functions and drivers does this node have, and which processes have them open? From
// sysfs and procfs.
#include "operands/vfio_manager/gather.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "host/device_holders.h"
#include "host/kernel_modules.h"
#include "host/pci.h"
#include "host/pods_of_node.h"
#include "operands/vfio_manager/variant.h"

namespace gantry::vfio_manager {
namespace {

// After the path of an open file that was removed since.
constexpr std::string_view kDeleted = " (deleted)";

std::string FolderOf(const Places& places, const std::string& address) {
  return JoinPath(places.sys, "bus/pci/devices/" + address);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  return ListDirectory(folder).value_or(std::vector<std::string>());
}

// A kernel without a table of aliases has no modules, and so no variants.
std::string Aliases(const Places& places) {
  utsname system{};
  uname(&system);
  const auto file =
      ResolveInRoot(places.host_root, format("/lib/modules/{}/modules.alias", system.release));
  return file.has_value() ? ReadFile(*file).value_or("") : "";
}

std::string OverrideOf(const std::string& folder) {
  const std::string text = ReadFile(JoinPath(folder, "driver_override")).value_or("");
  const std::string_view name = Trim(text);
  return name == "(null)" ? "" : std::string(name);
}

// The device nodes through which a process has the function open.
std::vector<std::string> NodesOf(const Places& places, const Function& function) {
  const std::string folder = FolderOf(places, function.pci.address);
  std::vector<std::string> nodes = {format("/dev/vfio/{}", function.pci.iommu_group)};
  for (const std::string& name : NamesIn(JoinPath(folder, "vfio-dev"))) {
    nodes.push_back("/dev/vfio/devices/" + name);
  }
  for (const std::string& name : NamesIn(JoinPath(folder, "drm"))) {
    nodes.push_back("/dev/dri/" + name);
  }
  const std::string driven = JoinPath(
      places.host_root, format("proc/driver/nvidia/gpus/{}/information", function.pci.address));
  if (const auto minor = host::ParseGpuMinor(ReadFile(driven).value_or(""))) {
    nodes.push_back(format("/dev/nvidia{}", *minor));
  }
  return nodes;
}

std::vector<host::PodName> PodNames(const Places& places) {
  std::vector<host::PodName> names;
  for (const auto& [name, uid] : host::ReadPodsOfNode(places.host_root).uids) {
    names.push_back({.uid = uid, .name = format("{}/{}", name.first, name.second)});
  }
  return names;
}

}  // namespace

Result<Facts> ReadFacts(const Places& places) {
  TRY_ASSIGN(const std::vector<host::PciFunction> functions, host::ListPci(places.sys));
  const std::string aliases = Aliases(places);
  Facts facts;
  std::set<std::string> listed;
  for (const host::PciFunction& each : functions) {
    Function& function = facts.functions.emplace_back();
    function.pci = each;
    listed.insert(each.address);
    if (each.vendor != host::kNvidiaVendor) {
      continue;
    }
    const std::string folder = FolderOf(places, each.address);
    function.override = OverrideOf(folder);
    function.module = VfioModule(ReadFile(JoinPath(folder, "modalias")).value_or(""), aliases);
    const auto enabled = ParseInt(Trim(ReadFile(JoinPath(folder, "sriov_numvfs")).value_or("")));
    function.virtual_functions = static_cast<int>(enabled.value_or(0));
  }
  const std::string groups = JoinPath(places.sys, "kernel/iommu_groups");
  for (const std::string& group : NamesIn(groups)) {
    const std::vector<std::string> members = NamesIn(JoinPath(groups, group + "/devices"));
    if (std::ranges::any_of(members, [&](const auto& each) { return !listed.contains(each); })) {
      facts.incomplete_groups.insert(static_cast<int>(ParseInt(group).value_or(-1)));
    }
  }
  std::ranges::copy(NamesIn(JoinPath(places.sys, "bus/pci/drivers")),
                    std::inserter(facts.drivers, facts.drivers.end()));
  return facts;
}

Status AddHolders(const Places& places, Facts& facts) {
  const std::string proc = JoinPath(places.host_root, "proc");
  if (access(JoinPath(proc, "1").c_str(), F_OK) != 0) {
    return Fail(ErrorKind::kUnavailable,
                format("look who holds the GPUs: {} has no processes: mount the host's root with "
                       "the mounts below it",
                       proc));
  }
  TRY_ASSIGN(const std::vector<host::ProcessText> processes, host::ReadProcesses(proc));
  const std::vector<host::PodName> pods = PodNames(places);
  std::map<int, std::vector<std::string>> nodes;  // by group
  for (const Function& function : facts.functions) {
    if (function.pci.vendor == host::kNvidiaVendor && function.pci.iommu_group >= 0) {
      const std::vector<std::string> more = NodesOf(places, function);
      std::vector<std::string>& all = nodes[function.pci.iommu_group];
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  for (const auto& [group, of_group] : nodes) {
    const auto device_of = [&](std::string_view target) -> std::string {
      if (target.ends_with(kDeleted)) {
        target.remove_suffix(kDeleted.size());
      }
      // A process may have a node in a root of its own: ".../dev/nvidia0".
      const auto found = std::ranges::find_if(
          of_group, [&](const std::string& node) { return target.ends_with(node); });
      return found == of_group.end() ? "" : *found;
    };
    const std::string holders =
        host::DescribeHolders(host::HoldersAmong(processes, device_of), pods);
    for (Function& function : facts.functions) {
      if (function.pci.iommu_group == group) {
        function.holders = holders;
      }
    }
  }
  return {};
}

}  // namespace gantry::vfio_manager
