// SPDX-License-Identifier: Apache-2.0
// How does the container runtime learn what a GPU's name in an Allocate answer stands for? By a CDI
// document, which must be there before the first device is offered.
#include "operands/device_plugin/cdi_file.h"

#include <filesystem>

#include "base/paths.h"
#include "base/text.h"
#include "container/cdi.h"
#include "container/nvidia_cdi.h"
#include "host/files.h"
#include "policy/names.h"

namespace gantry::device_plugin {

std::string CdiPath(const std::string& cdi_dir) {
  return JoinPath(cdi_dir, container::CdiFileStem(names::kDevicePluginCdiKind) + ".json");
}

Result<bool> WriteCdi(const std::string& cdi_dir, const std::string& host_root,
                      const Settings& settings, const GpuSet& set, const std::vector<Gpu>& gpus,
                      const std::vector<std::string>& disabled_hooks) {
  container::CdiInput input;
  input.driver = {.root = settings.driver.root_here,
                  .host_root = settings.driver.root,
                  .dev_root = settings.driver.dev_root_here,
                  .host_dev_root = settings.driver.dev_root,
                  .sys_root = host_root,
                  .run_root = host_root,
                  .version = set.driver_version,
                  .cuda_version = set.cuda_version};
  input.kind = names::kDevicePluginCdiKind;
  for (const auto& gpu : gpus) {
    input.gpus.push_back({.uuid = gpu.uuid,
                          .index = static_cast<int>(gpu.index),
                          .minor = static_cast<int>(gpu.minor),
                          .pci_bus_id = gpu.pci_bus_id,
                          .nodes = {}});
  }
  input.naming = {settings.id_strategy == IdStrategy::kUuid ? container::CdiNaming::kUuid
                                                            : container::CdiNaming::kIndex};
  input.hook_path = settings.cdi_hook_path;
  input.disabled_hooks = disabled_hooks;
  TRY_ASSIGN(const auto spec, container::NvidiaCdi(input));
  TRY(host::MakeDirectories(cdi_dir));
  return host::WriteIfDifferent(CdiPath(cdi_dir), container::CdiText(spec));
}

}  // namespace gantry::device_plugin
