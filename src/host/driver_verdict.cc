// SPDX-License-Identifier: Apache-2.0
// Is there a usable driver, and if not, what is missing? A pure decision from observations. A
// driver is usable when its library, its kernel module and its device nodes exist, and library and
// module have the same version (NVML refuses to work across versions).
#include "host/driver_verdict.h"

#include <algorithm>

#include "base/text.h"
#include "policy/reasons.h"

namespace gantry::host {
namespace {

constexpr char kContainerRootHere[] = "/driver-root";

int GpuCount(const DriverObservation& seen) {
  int count = 0;
  for (const auto& [driver, gpus] : seen.gpus_by_driver) {
    count += gpus;
  }
  return count;
}

DriverVerdict No(const reasons::Reason& reason, std::string message, std::string remedy) {
  DriverVerdict verdict;
  verdict.reason = reason.code;
  verdict.message = std::move(message);
  verdict.remedy = std::move(remedy);
  return verdict;
}

DriverVerdict ModuleNotLoaded(const DriverObservation& seen) {
  for (const auto& [driver, gpus] : seen.gpus_by_driver) {
    if (driver == "vfio-pci") {
      return No(reasons::kGpuBoundToVfio, format("{} GPU(s) are bound to vfio-pci", gpus),
                "they are passed through to virtual machines; bind them to nvidia to use them in "
                "containers");
    }
    if (driver == "nouveau") {
      return No(reasons::kGpuBoundToNouveau, format("{} GPU(s) are bound to nouveau", gpus),
                "blacklist nouveau, rebuild the initial ramdisk and restart the node");
    }
  }
  return No(reasons::kKernelModuleNotLoaded,
            "the driver is installed, the kernel module nvidia is not loaded",
            "run `modprobe nvidia` on the node; if that fails, its kernel log says why (a module "
            "built for another kernel, a missing Secure Boot signature)");
}

// Why the driver with that tree and those device nodes is not usable; nothing if it is usable.
std::optional<DriverVerdict> Objection(const DriverObservation& seen, const DriverTree& tree,
                                       const DriverNodes& nodes) {
  if (tree.library.empty()) {
    return No(reasons::kLibraryMissing,
              format("{} is there, libnvidia-ml.so.1 is not in a library folder", tree.nvidia_smi),
              "install the driver's libraries (libnvidia-ml1, or the package that holds "
              "libnvidia-ml.so.1)");
  }
  if (!seen.module_loaded.value_or(true)) {
    return ModuleNotLoaded(seen);
  }
  if (!seen.module_version.empty() && !tree.library_version.empty() &&
      seen.module_version != tree.library_version) {
    return No(reasons::kVersionMismatch,
              format("the kernel module is {}, the library is {}", seen.module_version,
                     tree.library_version),
              "the driver was updated under the running kernel: restart the node, or unload and "
              "load the nvidia modules");
  }
  if (!nodes.control) {
    return No(reasons::kDeviceNodeMissing, "/dev/nvidiactl is not there",
              "run `nvidia-smi` or `nvidia-modprobe` as root on the node, or enable "
              "nvidia-persistenced");
  }
  if (!nodes.uvm) {
    return No(reasons::kDeviceNodeMissing, "/dev/nvidia-uvm is not there: CUDA can't start",
              "run `nvidia-modprobe -u -c 0` as root on the node");
  }
  for (const int minor : seen.module_gpus) {
    if (std::ranges::find(nodes.gpus, minor) == nodes.gpus.end()) {
      return No(reasons::kDeviceNodeMissing,
                format("/dev/nvidia{} is not there, and the driver has that GPU", minor),
                format("run `nvidia-modprobe -c {}` as root on the node", minor));
    }
  }
  if (nodes.gpus.empty()) {
    return No(reasons::kDeviceNodeMissing,
              "there is no /dev/nvidia0 nor any other GPU's device node",
              "run `nvidia-smi` as root on the node; if it finds no device, the kernel log says "
              "why");
  }
  return std::nullopt;
}

DriverVerdict Yes(const DriverObservation& seen, const DriverTree& tree) {
  DriverVerdict verdict;
  verdict.version = seen.module_version.empty() ? tree.library_version : seen.module_version;
  verdict.tree = tree;
  return verdict;
}

DriverVerdict HostDriver(const DriverObservation& seen, std::string message) {
  DriverVerdict verdict = Yes(seen, seen.host);
  verdict.kind = DriverKind::kHost;
  verdict.reason = "HostDriver";
  verdict.message = std::move(message);
  verdict.driver_root = "/";
  verdict.driver_root_here = seen.host_root;
  verdict.dev_root = "/";
  verdict.dev_root_here = seen.host_root;
  return verdict;
}

std::string ContainerDevRoot(const DriverObservation& seen) {
  return seen.container_has_dev ? seen.driver_dir : "/";
}

DriverVerdict ContainerDriver(const DriverObservation& seen) {
  DriverVerdict verdict = Yes(seen, seen.container);
  verdict.kind = DriverKind::kContainer;
  verdict.reason = "ContainerDriver";
  verdict.message = format("driver {} in {}", verdict.version, seen.driver_dir);
  verdict.driver_root = seen.driver_dir;
  verdict.driver_root_here = kContainerRootHere;
  verdict.dev_root = ContainerDevRoot(seen);
  verdict.dev_root_here = seen.container_has_dev ? kContainerRootHere : seen.host_root;
  return verdict;
}

// The driver's container knows the reason better than the files show it.
DriverVerdict NotInstalled(const DriverObservation& seen) {
  return No(reasons::kDriverNotInstalled, seen.container_failure,
            "give the driver's container what it lacks; it tries again by itself. The log of the "
            "driver's pod on this node has more");
}

DriverVerdict JudgeContainer(const DriverObservation& seen) {
  if (!seen.container_ready && !seen.container_failure.empty()) {
    return NotInstalled(seen);
  }
  if (!seen.container_ready) {
    return No(reasons::kDriverContainerNotReady,
              format("there is a driver in {}, its container has not said that it is ready",
                     seen.driver_dir),
              "look at the log of the driver's pod on this node");
  }
  const DriverNodes& nodes = seen.container_has_dev ? seen.container_nodes : seen.host_nodes;
  if (std::optional<DriverVerdict> objection = Objection(seen, seen.container, nodes)) {
    objection->dev_root = ContainerDevRoot(seen);
    return *std::move(objection);
  }
  return ContainerDriver(seen);
}

bool IsThere(const DriverTree& tree) { return !tree.library.empty() || !tree.nvidia_smi.empty(); }

}  // namespace

DriverVerdict JudgeDriver(const DriverObservation& seen) {
  if (seen.wsl) {
    return HostDriver(seen, "the driver of Windows, through WSL");
  }
  std::optional<DriverVerdict> host;
  if (IsThere(seen.host)) {
    host = Objection(seen, seen.host, seen.host_nodes);
    if (!host) {
      return HostDriver(seen, format("driver {} of the host", seen.module_version.empty()
                                                                  ? seen.host.library_version
                                                                  : seen.module_version));
    }
    host->dev_root = "/";
  }
  if (IsThere(seen.container)) {
    DriverVerdict container = JudgeContainer(seen);
    if (container.kind != DriverKind::kNone || !host) {
      return container;
    }
  }
  if (host) {
    return *std::move(host);
  }
  if (!seen.container_failure.empty()) {
    return NotInstalled(seen);
  }
  const int gpus = GpuCount(seen);
  if (gpus == 0) {
    return No(reasons::kNoGpu, "there is no NVIDIA GPU on the PCI bus",
              "nothing, if the node is to have none; else look whether the machine sees the card");
  }
  if (const auto bound = seen.gpus_by_driver.find("nouveau"); bound != seen.gpus_by_driver.end()) {
    return No(reasons::kGpuBoundToNouveau, format("{} GPU(s) are bound to nouveau", bound->second),
              "install NVIDIA's driver, blacklist nouveau, rebuild the initial ramdisk and restart "
              "the node");
  }
  return No(reasons::kDriverMissing,
            format("{} NVIDIA GPU(s) and no driver: no libnvidia-ml.so.1, no "
                   "nvidia-smi",
                   gpus),
            "install NVIDIA's driver on the node");
}

}  // namespace gantry::host
