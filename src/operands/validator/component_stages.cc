// SPDX-License-Identifier: Apache-2.0
// How are the components checked that only need sysfs, procfs or another program's file? These send
// no events, so a waiting check retries after --sleep-interval-seconds.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/driver_root.h"
#include "host/files.h"
#include "host/pci.h"
#include "operands/validator/component_verdict.h"
#include "operands/validator/stage.h"

namespace gantry::validator {
namespace {

using std::chrono::seconds;

constexpr int kMellanoxVendor = 0x15b3;
constexpr seconds kSmiLimit(60);
constexpr seconds kComponentLookAgain(60);

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::vector<host::PciFunction> PciOf(const Site& site) {
  return host::ListPci(site.Sys()).value_or(std::vector<host::PciFunction>());
}

Stage::Name NameOf(const Site& site, const std::string& component) {
  const bool only_sysfs = component == "vfio-pci" || component == "vgpu-devices";
  return {.name = component,
          .file = component + "-ready",
          .hold = {},
          .again = site.flags().component.empty() && !only_sysfs
                       ? kComponentLookAgain
                       : seconds(site.flags().sleep_seconds)};
}

// A component that is only a kernel module.
struct ModuleComponent {
  std::string_view component;
  std::string_view module;
  std::string_view variable;  // by which a driver's container announces the module
};
constexpr std::array<ModuleComponent, 3> kModules = {
    {{"nvidia-fs", "nvidia_fs", "GDS_ENABLED"},
     {"gdrcopy", "gdrdrv", "GDRCOPY_ENABLED"},
     {"nvidia-peermem", "nvidia_peermem", "GPU_DIRECT_RDMA_ENABLED"}}};

class Module final : public Stage {
 public:
  Module(const Site& here, const ModuleComponent& what)
      : Stage(NameOf(here, std::string(what.component)), here), what_(what) {}
  [[nodiscard]] std::vector<WatchedPath> Paths() const override { return {{DriverSays()}}; }
  Look LookAt(bool /*changed*/) override {
    const std::string module(what_.module);
    return {.finding = JudgeModule(module, Asked(), site().ModuleLoaded(module)), .question = {}};
  }
  std::optional<Finding> Hear(const Answer& /*answer*/) override { return std::nullopt; }

 private:
  [[nodiscard]] std::string DriverSays() const {
    return JoinPath(site().files().directory(), names::kDriverCtrReady);
  }
  [[nodiscard]] bool Asked() const {
    return site().flags().component == what_.component ||
           ReadFile(DriverSays()).value_or("").find(format("{}: true", what_.variable)) !=
               std::string::npos;
  }
  const ModuleComponent what_;
};

class Mofed final : public Stage {
 public:
  explicit Mofed(const Site& here) : Stage(NameOf(here, "mofed"), here) {}
  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    return {{Ready(), host::Watcher::For::kExistence}};
  }
  Look LookAt(bool /*changed*/) override {
    const bool mellanox = std::ranges::any_of(PciOf(site()), [](const host::PciFunction& each) {
      return each.vendor == kMellanoxVendor;
    });
    return {.finding = JudgeMofed({.asked = site().flags().rdma,
                                   .mellanox = mellanox,
                                   .host_mofed = site().flags().host_mofed,
                                   .module = site().ModuleLoaded("mlx5_core"),
                                   .driver_ready = IsThere(Ready())}),
            .question = {}};
  }
  std::optional<Finding> Hear(const Answer& /*answer*/) override { return std::nullopt; }

 private:
  [[nodiscard]] std::string Ready() const {
    return site().Here("/run/mellanox/drivers/.driver-ready");
  }
};

// The common part of the stages for virtual machines: the node's workload, which they also write to
// a file for the device plugins of such nodes.
class Sandbox : public Stage {
 public:
  Sandbox(const Site& here, const std::string& component, std::string workload)
      : Stage(NameOf(here, component), here), workload_(std::move(workload)) {}

 protected:
  [[nodiscard]] const std::string& workload() const { return workload_; }
  void WriteWorkload() const {
    const auto wrote = host::WriteIfDifferent(
        JoinPath(site().files().directory(), names::kWorkloadType), workload_ + "\n");
    if (!wrote) {
      log::Warning("{}", wrote.error().message);
    }
  }

 private:
  const std::string workload_;
};

class VfioPci final : public Sandbox {
 public:
  using Sandbox::Sandbox;
  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    return {{JoinPath(site().files().directory(), names::kVfioFailed)}};
  }
  Look LookAt(bool /*changed*/) override {
    WriteWorkload();
    const auto failed = site().files().Read(names::kVfioFailed);
    const auto why = failed.value_or(host::StatusValues());
    const auto message = why.find("MESSAGE");
    return {.finding =
                JudgeVfio(workload(), PciOf(site()), message == why.end() ? "" : message->second),
            .question = {}};
  }
  std::optional<Finding> Hear(const Answer& /*answer*/) override { return std::nullopt; }
};

int NumberIn(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  return text ? static_cast<int>(ParseInt(Trim(*text)).value_or(0)) : 0;
}

class VgpuManager final : public Sandbox {
 public:
  using Sandbox::Sandbox;
  [[nodiscard]] std::vector<WatchedPath> Paths() const override { return {}; }

  Look LookAt(bool /*changed*/) override {
    WriteWorkload();
    if (workload() != "vm-vgpu") {
      return {.finding = JudgeVgpuManager(workload(), {}, {}), .question = {}};
    }
    const host::DriverObservation seen =
        host::ObserveDriver({.host_root = site().flags().host_root_here,
                             .driver_dir = site().flags().driver_install_dir});
    const bool in_container = seen.host.nvidia_smi.empty() && !seen.container.nvidia_smi.empty();
    UseFile(in_container ? "vgpu-manager-ready" : "host-vgpu-manager-ready");
    const host::DriverTree& tree = in_container ? seen.container : seen.host;
    if (tree.nvidia_smi.empty()) {
      return {.finding = JudgeVgpuManager(workload(), {}, {}), .question = {}};
    }
    std::vector<std::string> argv = Site::Probe("program");
    argv.insert(argv.end(), {"--probe-root",
                             in_container ? site().Here(site().flags().driver_install_dir)
                                          : site().flags().host_root_here,
                             "--probe-program", tree.nvidia_smi});
    return {.finding = {}, .question = Question{std::move(argv), kSmiLimit}};
  }

  std::optional<Finding> Hear(const Answer& answer) override {
    std::vector<VgpuParent> gpus;
    for (const host::PciFunction& each : PciOf(site())) {
      if (host::IsNvidiaGpu(each) && !each.virtual_function) {
        const std::string folder =
            JoinPath(JoinPath(site().Sys(), "bus/pci/devices"), each.address);
        gpus.push_back({.address = each.address,
                        .virtual_functions = NumberIn(JoinPath(folder, "sriov_totalvfs")),
                        .enabled = NumberIn(JoinPath(folder, "sriov_numvfs")),
                        .mdev_parent = IsThere(
                            JoinPath(JoinPath(site().Sys(), "class/mdev_bus"), each.address))});
      }
    }
    return JudgeVgpuManager(workload(), answer, gpus);
  }
};

class VgpuDevices final : public Sandbox {
 public:
  using Sandbox::Sandbox;
  [[nodiscard]] std::vector<WatchedPath> Paths() const override { return {}; }

  Look LookAt(bool /*changed*/) override {
    WriteWorkload();
    const auto mediated = ListDirectory(JoinPath(site().Sys(), "bus/mdev/devices"));
    int devices = mediated ? static_cast<int>(mediated->size()) : 0;
    // Drivers since 17.x on new kernels use virtual functions with a type each.
    for (const host::PciFunction& each : PciOf(site())) {
      const std::string type = JoinPath(JoinPath(site().Sys(), "bus/pci/devices"),
                                        each.address + "/nvidia/current_vgpu_type");
      devices += host::IsNvidiaGpu(each) && NumberIn(type) != 0 ? 1 : 0;
    }
    return {.finding = JudgeVgpuDevices(workload(), devices), .question = {}};
  }
  std::optional<Finding> Hear(const Answer& /*answer*/) override { return std::nullopt; }
};

class CcManager final : public Stage {
 public:
  CcManager(const Site& here, bool capable)
      : Stage(NameOf(here, "cc-manager"), here), capable_(capable) {}
  [[nodiscard]] std::vector<WatchedPath> Paths() const override {
    return {{Ready(), host::Watcher::For::kExistence}};
  }
  Look LookAt(bool /*changed*/) override {
    return {.finding = JudgeCcManager(capable_, IsThere(Ready())), .question = {}};
  }
  std::optional<Finding> Hear(const Answer& /*answer*/) override { return std::nullopt; }

 private:
  [[nodiscard]] std::string Ready() const {
    return JoinPath(site().files().directory(), ".cc-manager-ctr-ready");
  }
  const bool capable_;
};

}  // namespace

std::unique_ptr<Stage> ModuleStage(const Site& site, const std::string& component) {
  for (const ModuleComponent& each : kModules) {
    if (each.component == component) {
      return std::make_unique<Module>(site, each);
    }
  }
  return component == "mofed" ? std::make_unique<Mofed>(site) : nullptr;
}

std::unique_ptr<Stage> SandboxStage(const Site& site, const std::string& component,
                                    const std::map<std::string, std::string>& labels) {
  const std::string workload = WorkloadOf(labels, site.flags().workload);
  if (component == "vfio-pci") {
    return std::make_unique<VfioPci>(site, component, workload);
  }
  if (component == "vgpu-manager") {
    return std::make_unique<VgpuManager>(site, component, workload);
  }
  if (component == "vgpu-devices") {
    return std::make_unique<VgpuDevices>(site, component, workload);
  }
  if (component == "cc-manager") {
    const auto capable = labels.find(names::kCcCapable);
    return std::make_unique<CcManager>(site, capable != labels.end() && capable->second == "true");
  }
  return nullptr;
}

}  // namespace gantry::validator
