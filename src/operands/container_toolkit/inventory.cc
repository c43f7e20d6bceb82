// SPDX-License-Identifier: Apache-2.0
// What does the driver report about this node's GPUs? It is asked when the driver or its device
// nodes change, so that a container start need not ask.
#include "operands/container_toolkit/inventory.h"

#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "agent/flags.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/open_nvml.h"
#include "gpu/products.h"
#include "host/processes.h"

namespace gantry::container_toolkit {
namespace {

constexpr std::chrono::seconds kLimit(20);
constexpr char kUsage[] =
    "usage: gpu-inventory ROOT HOST_ROOT DEV_ROOT HOST_DEV_ROOT NODE_ROOT\n"
    "Prints what the driver below ROOT says of this node's GPUs, for the container runtime.";

container::CdiGpu GpuFrom(const nvml::Device& device, const container::DriverPlace& place,
                          const std::string& node_root) {
  container::CdiGpu gpu;
  gpu.uuid = device.uuid;
  gpu.index = static_cast<int>(device.index);
  gpu.minor = static_cast<int>(device.minor);
  gpu.pci_bus_id = device.pci_bus_id;
  gpu.mig_enabled = device.mig == nvml::MigMode::kEnabled;
  gpu.drm_nodes = container::DrmNodes(place, device.pci_bus_id);
  gpu.coherent = device.coherent;
  for (const nvml::MigDevice& mig : device.mig_devices) {
    gpu.mig.push_back({mig.uuid, static_cast<int>(mig.index),
                       container::MigNodes(node_root, gpu.minor, static_cast<int>(mig.gpu_instance),
                                           static_cast<int>(mig.compute_instance)),
                       mig.profile.find("+gfx") != std::string::npos});
  }
  return gpu;
}

Result<container::NodeInventory> Gather(container::DriverPlace place,
                                        const std::string& node_root) {
  TRY_ASSIGN(const auto library, gpu::OpenNvml({.driver_root = place.root,
                                                .dev_root = place.dev_root,
                                                .sys = JoinPath(node_root, "sys")}));
  TRY_ASSIGN(place.version, library->DriverVersion());
  TRY_ASSIGN(const nvml::Devices devices, library->Enumerate());
  TRY_ASSIGN(container::DriverInventory files, container::FindDriverFiles(place));
  return InventoryFrom(place, std::move(files), library->CudaVersion().value_or(0), devices,
                       node_root);
}

}  // namespace

container::NodeInventory InventoryFrom(const container::DriverPlace& place,
                                       container::DriverInventory files, int cuda_version,
                                       const nvml::Devices& devices, const std::string& node_root) {
  container::NodeInventory inventory;
  inventory.driver = place;
  inventory.files = std::move(files);
  if (cuda_version > 0) {
    inventory.driver.cuda_version = format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
  }
  for (const nvml::Device& device : devices.found) {
    if (!gpu::IsForContainers(device.name)) {
      continue;
    }
    inventory.gpus.push_back(GpuFrom(device, place, node_root));
    inventory.kinds.push_back({device.brand == "unknown" ? "" : device.brand,
                               device.compute_major == 0
                                   ? ""
                                   : format("{}.{}", device.compute_major, device.compute_minor)});
  }
  return inventory;
}

Result<std::string> AskForInventory(const container::DriverPlace& place) {
  host::Command command;
  command.words = {"/proc/self/exe", "gpu-inventory",     place.root,    place.host_root,
                   place.dev_root,   place.host_dev_root, place.sys_root};
  command.limit = kLimit;
  TRY_ASSIGN(host::Finished done, host::RunProgram(command));
  if (done.exit_status != 0) {
    return Fail(ErrorKind::kUnavailable,
                format("ask the driver for its GPUs: {}", Trim(done.errors)));
  }
  return std::move(done.output);
}

int RunGpuInventory(int argc, char** argv) {
  if (const auto code = agent::ExitCodeOfWords(argc, argv, 5, kUsage)) {
    return *code;
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  container::DriverPlace place;
  place.root = words[0];
  place.host_root = words[1];
  place.dev_root = words[2];
  place.host_dev_root = words[3];
  place.sys_root = place.run_root = words[4];
  const auto inventory = Gather(place, words[4]);
  if (!inventory) {
    std::fprintf(stderr, "%s\n", inventory.error().message.c_str());
    return 1;
  }
  const std::string text = container::InventoryText(*inventory);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0
             ? 0
             : 1;
}

}  // namespace gantry::container_toolkit
