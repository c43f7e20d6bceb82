// SPDX-License-Identifier: Apache-2.0
// How does the container runtime resolve a GPU's name in an Allocate response? By a CDI document,
// which must exist before the first device is offered.
#include "operands/device_plugin/cdi_file.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "container/nvidia_cdi.h"
#include "container/special_cdi.h"
#include "gpu/cdi_gpu.h"
#include "host/files.h"
#include "policy/names.h"

namespace gantry::device_plugin {
namespace {

container::DriverPlace PlaceOf(const Settings& settings, const gpu::GpuSet& set,
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

// The GPUs of the units; for one in MIG mode only its MIG devices among them.
std::vector<container::CdiGpu> GpusOf(const gpu::GpuSet& set, const std::vector<Unit>& units) {
  std::vector<container::CdiGpu> gpus;
  const auto offered = [&units](const std::string& uuid) {
    return std::ranges::find(units, uuid, &Unit::uuid) != units.end();
  };
  for (const auto& gpu : set.gpus) {
    container::CdiGpu described = gpu::CdiGpuOf(gpu);
    std::erase_if(described.mig, [&](const auto& mig) { return !offered(mig.uuid); });
    if (offered(gpu.uuid) || !described.mig.empty()) {
      gpus.push_back(std::move(described));
    }
  }
  return gpus;
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

// Writes the document of a CDI mode beside the GPUs; false: this node has no such devices.
// `wanted`: only these devices; empty: all.
Result<bool> WriteSpecial(const std::string& mode, const std::vector<std::string>& wanted,
                          const container::CdiInput& input, Writer& writer) {
  auto spec =
      container::SpecialCdi(mode, container::SpecialCdiKind(names::kDevicePluginCdiVendor, mode),
                            input.driver, input.hook, input.hook_switches);
  if (!spec) {
    return spec.error().kind == ErrorKind::kNotFound ? Result<bool>(false)
                                                     : std::unexpected(std::move(spec).error());
  }
  std::erase_if(spec->devices, [&wanted](const container::CdiDevice& device) {
    return !wanted.empty() && std::ranges::find(wanted, device.name) == wanted.end();
  });
  TRY(writer.Write(*spec));
  return true;
}

}  // namespace

std::string CdiPath(const std::string& cdi_dir) {
  return JoinPath(cdi_dir, container::CdiFileStem(names::kDevicePluginCdiKind) + ".json");
}

std::string CdiPathOf(const std::string& cdi_dir, std::string_view device) {
  const auto name = container::ParseCdiName(device);
  return name ? JoinPath(cdi_dir, container::CdiFileStem(name->kind) + ".json") : "";
}

Result<container::CdiEdits> EditsOfDevice(const std::string& cdi_dir, std::string_view device) {
  container::CdiEdits edits;
  const auto name = container::ParseCdiName(device);
  if (!name) {
    return edits;
  }
  const auto path = CdiPathOf(cdi_dir, device);
  const auto text = ReadFile(path);
  if (!text) {
    return text.error().kind == ErrorKind::kNotFound
               ? Result<container::CdiEdits>(edits)
               : Result<container::CdiEdits>(std::unexpected(text.error()));
  }
  auto spec = container::ParseCdi(*text);
  if (!spec) {
    return std::unexpected(spec.error().In(path));
  }
  const auto found = std::ranges::find(spec->devices, name->device, &container::CdiDevice::name);
  if (spec->kind == name->kind && found != spec->devices.end()) {
    container::AppendEdits(spec->edits, edits);
    container::AppendEdits(found->edits, edits);
  }
  return edits;
}

Result<CdiWritten> WriteCdi(const std::string& cdi_dir, const std::string& host_root,
                            const Settings& settings, const container::HookProgram& hook,
                            const gpu::GpuSet& set, const std::vector<Unit>& units,
                            const std::vector<int>& imex_channels,
                            const container::CdiEdits& with_every_gpu) {
  CdiWritten written;
  Writer writer(cdi_dir, written);
  container::CdiInput input;
  input.driver = PlaceOf(settings, set, host_root);
  input.kind = names::kDevicePluginCdiKind;
  input.gpus = GpusOf(set, units);
  input.naming = {settings.id_strategy == IdStrategy::kUuid ? container::CdiNaming::kUuid
                                                            : container::CdiNaming::kIndex};
  input.hook = hook;
  input.hook_switches.disabled = settings.disabled_hooks;
  container::TakeFeatures(settings.cdi_features, input);
  TRY_ASSIGN(auto gpus, container::NvidiaCdi(input));
  container::CdiEdits more = with_every_gpu;
  if (!hook.ours) {
    more.hooks.clear();
  }
  container::AppendEdits(more, gpus.edits);
  TRY(host::MakeDirectories(cdi_dir));
  TRY(writer.Write(gpus));
  for (const auto& mode : settings.modes) {
    TRY_ASSIGN(const bool found, WriteSpecial(mode, {}, input, writer));
    if (found) {
      written.modes.insert(mode);
    }
  }
  std::vector<std::string> channels;
  channels.reserve(imex_channels.size());
  for (const int channel : imex_channels) {
    channels.push_back(format("{}", channel));
  }
  if (!channels.empty()) {
    TRY(WriteSpecial("imex", channels, input, writer));
  }
  return written;
}

}  // namespace gantry::device_plugin
