// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/testing/pci_tree.h"
#include "gpu/vfio.h"
#include "operands/vfio_manager/kernel.h"

namespace gantry::vfio_manager {

// What a killed process leaves: nothing after that point.
struct Killed {};

// Plays on a folder what writes to sysfs do in Linux 6.1 and 6.12, as they were seen to.
class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(const TempFolder& root) : root_(root) {}

  Status Write(const std::string& path, std::string_view text) override {
    const int number = writes++;
    if (number == kill_before) {
      throw Killed();
    }
    const Status done = Do(path, std::string(Trim(text)));
    if (number == kill_after) {
      throw Killed();
    }
    return done;
  }

  Status Load(const std::string& module) override {
    ++loads;
    if (!loadable.contains(module)) {
      return Fail(ErrorKind::kUnsupported, "modprobe " + module + ": not found");
    }
    std::string driver = module;
    std::ranges::replace(driver, '_', '-');
    gpu::AddDriver(root_, driver);
    return {};
  }

  int writes = 0;
  int loads = 0;
  int kill_before = -1;  // the number of a write
  int kill_after = -1;
  std::set<std::string> refused;  // "vfio-pci 0000:3b:00.1": probes that fail
  std::set<std::string> loadable;

 private:
  static Status No(const char* why) { return Fail(ErrorKind::kInternal, why); }

  std::string DriverOf(const std::string& address) {
    std::error_code none;
    return std::filesystem::read_symlink(root_ / (gpu::PciFolder(address) + "/driver"), none)
        .filename();
  }

  Status Do(const std::string& path, const std::string& text) {
    const std::string file = BaseName(path);
    const std::string owner = BaseName(ParentOf(path));
    if (!std::filesystem::exists(path)) {
      return No("No such file or directory");
    }
    if (file == "driver_override") {
      std::ofstream(path) << (text.empty() ? "(null)" : text) << "\n";
      return {};
    }
    const std::string folder = gpu::PciFolder(text);
    if (file == "unbind") {
      if (DriverOf(text) != owner) {
        return No("No such device");
      }
      std::filesystem::remove(root_ / (folder + "/driver"));
      return {};
    }
    const std::string override(Trim(ReadFile(root_ / (folder + "/driver_override")).value_or("")));
    if (!DriverOf(text).empty()) {
      return No("Device or resource busy");
    }
    if ((override != "(null)" && override != owner) ||
        (override == "(null)" && gpu::IsVfioDriver(owner))) {
      return No("No such device");
    }
    if (refused.contains(owner + " " + text) ||
        (gpu::IsVfioDriver(owner) && !std::filesystem::exists(root_ / (folder + "/iommu_group")))) {
      return No("Invalid argument");
    }
    gpu::LinkTo("../../../bus/pci/drivers/" + owner, root_ / (folder + "/driver"));
    return {};
  }

  const TempFolder& root_;
};

}  // namespace gantry::vfio_manager
