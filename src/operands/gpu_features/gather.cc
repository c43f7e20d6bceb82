// SPDX-License-Identifier: Apache-2.0
// Which GPUs does this node have? NVML has the GPUs, sysfs the PCI functions and the machine. NVML
// is called in a forked child: a call into a driver can hang for ever.
#include "operands/gpu_features/gather.h"

#include <utility>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "gpu/open_nvml.h"
#include "gpu/vfio.h"
#include "gpu/vgpu.h"
#include "host/pci.h"

namespace gantry::gpu_features {
namespace {

Status GatherDriver(const Sources& sources, Facts& facts) {
  TRY_ASSIGN(const auto library, gpu::OpenNvml({.driver_root = sources.driver_root,
                                                .dev_root = sources.dev_root,
                                                .sys = sources.sys_root}));
  TRY_ASSIGN(facts.driver_version, library->DriverVersion());
  TRY_ASSIGN(facts.cuda_version, library->CudaVersion());
  TRY_ASSIGN(nvml::Devices devices, library->Enumerate());
  if (devices.found.empty() && !devices.failed.empty()) {
    return std::unexpected(devices.failed.front().error.In("read GPUs"));
  }
  facts.gpus = std::move(devices.found);
  facts.failed_gpus = static_cast<int>(devices.failed.size());
  return {};
}

std::string PciText(const Sources& sources, const host::PciFunction& function, const char* file) {
  return ReadFile(format("{}/bus/pci/devices/{}/{}", sources.sys_root, function.address, file))
      .value_or("");
}

// The contents of the existing databases, the host's first.
std::vector<std::string> PciDatabases(const Sources& sources) {
  std::vector<std::string> databases;
  for (const std::string& root : {sources.host_root, sources.own_root}) {
    for (const char* path : {"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"}) {
      if (Result<std::string> text = ReadFile(JoinPath(root, path)); text.has_value()) {
        databases.push_back(*std::move(text));
        break;
      }
    }
  }
  return databases;
}

std::string NameOf(const host::PciFunction& function, const std::vector<std::string>& databases) {
  for (const std::string& database : databases) {
    if (auto name = gpu::NameInPciIds(database, function.vendor, function.device)) {
      return *std::move(name);
    }
  }
  return format("Device {:04x}", function.device);
}

// GPUs that are passed to virtual machines, from sysfs alone.
void GatherVfio(const Sources& sources, const std::vector<host::PciFunction>& functions,
                Facts& facts) {
  constexpr char kUnknown[] = "unknown.unknown.unknown";
  facts.driver_version = kUnknown;
  const std::vector<std::string> databases = PciDatabases(sources);
  for (const host::PciFunction& function : functions) {
    if (!host::IsNvidiaGpu(function) || !gpu::IsVfioDriver(function.driver)) {
      continue;
    }
    nvml::Device& gpu = facts.gpus.emplace_back();
    gpu.index = static_cast<unsigned>(facts.gpus.size() - 1);
    gpu.pci_bus_id = function.address;
    gpu.name = NameOf(function, databases);
    gpu.memory_bytes = gpu::AddressableMemory(PciText(sources, function, "resource"));
    gpu.numa_node = function.numa_node;
  }
}

void GatherPci(const Sources& sources, const std::vector<host::PciFunction>& functions,
               Facts& facts) {
  facts.config_space_readable = true;
  for (const host::PciFunction& function : functions) {
    if (function.vendor != host::kNvidiaVendor) {
      continue;
    }
    facts.pci_classes[function.address] = function.class_code;
    const std::string ns = PciText(sources, function, "config");
    if (ns.size() < gpu::kConfigSpaceSize) {
      facts.config_space_readable = false;
    } else if (!facts.vgpu.has_value()) {
      facts.vgpu = gpu::FindVgpuHost(ns);
    }
  }
}

// Machines without DMI have the device tree's name.
std::string Machine(const Sources& sources) {
  if (sources.machine_type_file.empty()) {
    return "";
  }
  const Result<std::string> text = ReadFile(sources.machine_type_file);
  return text.has_value()
             ? *text
             : ReadFile(sources.sys_root + "/firmware/devicetree/base/model").value_or("");
}

Result<std::string> Answer(const Sources& sources) {
  TRY_ASSIGN(const Facts facts, Gather(sources));
  return ToJson(facts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<Facts> GatherBus(const Sources& sources) {
  Facts facts;
  TRY_ASSIGN(const auto functions, host::ListPci(sources.sys_root));
  GatherPci(sources, functions, facts);
  return facts;
}

Result<Facts> Gather(const Sources& sources) {
  Facts facts;
  TRY_ASSIGN(const auto functions, host::ListPci(sources.sys_root));
  if (sources.vfio) {
    GatherVfio(sources, functions, facts);
  } else {
    const Status driver = GatherDriver(sources, facts);
    if (!driver.has_value() &&
        !(sources.driver_may_be_missing && driver.error().kind == ErrorKind::kNotFound)) {
      return std::unexpected(driver.error());
    }
  }
  GatherPci(sources, functions, facts);
  facts.machine = Machine(sources);
  return facts;
}

Result<Facts> Gatherer::Ask(const Sources& sources, std::chrono::milliseconds limit, int stop_fd) {
  TRY_ASSIGN(const std::string text, child_.Run([&] { return Answer(sources); }, limit, stop_fd));
  TRY_ASSIGN(const Json facts, ParseJson(text));
  return FactsFromJson(facts);
}

}  // namespace gantry::gpu_features
