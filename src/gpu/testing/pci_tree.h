// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"

// A node's sysfs, procfs and /dev/vfio in a folder, as a kernel with an IOMMU shows them: made from
// tests/golden/vm_nodes/<name>/node.json.
namespace gantry::gpu {

inline void LinkTo(const std::string& target, const std::string& path) {
  std::filesystem::create_directories(ParentOf(path));
  std::filesystem::create_symlink(target, path);
}

inline void AddDriver(const TempFolder& root, const std::string& driver) {
  const std::string folder = "sys/bus/pci/drivers/" + driver;
  root.Write(folder + "/bind", "");
  root.Write(folder + "/unbind", "");
}

inline std::string PciFolder(const std::string& address) {
  return "sys/bus/pci/devices/" + address;
}

// The node of a group, as it appears with the group's first function that has such a driver.
inline void AddVfioNode(const TempFolder& root, const std::string& group) {
  root.Write("dev/vfio/" + group, "");
}

inline void AddFunction(const TempFolder& root, const Json& function) {
  const std::string address = TextAt(function, "address");
  const std::string real = "sys/devices/pci0000:00/" + address;
  const auto text = [&](const char* key, const char* fallback) {
    root.Write(format("{}/{}", real, key), TextAt(function, key, fallback) + "\n");
  };
  text("vendor", "0x10de");
  text("device", "0x1eb8");
  text("class", "0x030200");
  text("numa_node", "-1");
  text("modalias", "pci:v000010DEd00001EB8sv000010DEsd000012A2bc03sc02i00");
  text("driver_override", "(null)");
  if (function.contains("sriov_numvfs")) {
    text("sriov_numvfs", "0");
  }
  LinkTo("../../../devices/pci0000:00/" + address, root / PciFolder(address));
  if (const std::string driver = TextAt(function, "driver"); !driver.empty()) {
    AddDriver(root, driver);
    LinkTo("../../../bus/pci/drivers/" + driver, root / (real + "/driver"));
  }
  if (const std::string group = TextAt(function, "group"); !group.empty()) {
    LinkTo("../../../kernel/iommu_groups/" + group, root / (real + "/iommu_group"));
    LinkTo("../../../../devices/pci0000:00/" + address,
           root / format("sys/kernel/iommu_groups/{}/devices/{}", group, address));
    if (TextAt(function, "driver").ends_with("vfio-pci")) {
      AddVfioNode(root, group);
    }
  }
  if (const std::string parent = TextAt(function, "physfn"); !parent.empty()) {
    LinkTo("../" + parent, root / (real + "/physfn"));
  }
  if (function.contains("minor")) {
    root.Write(format("proc/driver/nvidia/gpus/{}/information", address),
               format("Model: \t\t Tesla T4\nDevice Minor: \t {}\n", IntAt(function, "minor", 0)));
  }
}

inline void AddProcess(const TempFolder& root, const Json& process) {
  const std::string folder = "proc/" + TextAt(process, "pid");
  root.Write(folder + "/comm", TextAt(process, "comm") + "\n");
  root.Write(folder + "/cgroup", TextAt(process, "cgroup", "0::/") + "\n");
  int fd = 3;
  for (const std::string& open : TextsAt(process, "open")) {
    LinkTo(open, root / format("{}/fd/{}", folder, fd++));
  }
}

// {"drivers": [...], "functions": [...], "processes": [...]}
inline void MakeNode(const TempFolder& root, const Json& node) {
  std::filesystem::create_directories(root / "sys/bus/pci/devices");
  std::filesystem::create_directories(root / "sys/kernel/iommu_groups");
  root.Write("dev/vfio/vfio", "");
  for (const std::string& driver : TextsAt(node, "drivers")) {
    AddDriver(root, driver);
  }
  for (const Json& function : ListAt(node, "functions")) {
    AddFunction(root, function);
  }
  AddProcess(root, {{"pid", "1"}, {"comm", "systemd"}});
  for (const Json& process : ListAt(node, "processes")) {
    AddProcess(root, process);
  }
}

}  // namespace gantry::gpu
