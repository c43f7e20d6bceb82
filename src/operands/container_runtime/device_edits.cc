// SPDX-License-Identifier: Apache-2.0
// How does a node's inventory become a CDI document, and the facts for an image's requirements?
#include "operands/container_runtime/device_edits.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "container/cdi_registry.h"

namespace gantry::container_runtime {
namespace {

// Whether a request names this GPU by one of RuntimeSpec's names.
bool NamesWhole(const DeviceRequest& request, const container::CdiGpu& gpu) {
  return (request.device == gpu.uuid && !gpu.uuid.empty()) ||
         request.device == format("{}", gpu.index) || request.device == format("gpu{}", gpu.index);
}

// Whether a request is for this GPU, or a MIG device of it.
bool Names(const DeviceRequest& request, const container::CdiGpu& gpu) {
  return request.device == "all" || NamesWhole(request, gpu) ||
         request.device.starts_with(format("{}:", gpu.index)) ||
         std::ranges::any_of(
             gpu.mig, [&](const container::CdiMig& mig) { return mig.uuid == request.device; });
}

}  // namespace

container::CdiGpu WholeGpu(container::CdiGpu gpu) {
  gpu.mig_enabled = false;
  gpu.mig.clear();
  return gpu;
}

container::CdiSpec RuntimeSpec(const container::NodeInventory& inventory,
                               const std::vector<DeviceRequest>& requests,
                               const RuntimeConfig& settings, const container::HookProgram& hook) {
  container::CdiInput input;
  input.driver = inventory.driver;
  input.kind = kRuntimeKind;
  input.gpus = inventory.gpus;
  for (const container::CdiGpu& gpu : inventory.gpus) {
    if (gpu.mig_enabled && std::ranges::any_of(requests, [&](const DeviceRequest& request) {
          return NamesWhole(request, gpu);
        })) {
      input.gpus.push_back(WholeGpu(gpu));
    }
  }
  input.naming = {container::CdiNaming::kUuid, container::CdiNaming::kIndex,
                  container::CdiNaming::kTypeIndex};
  input.hook = hook;
  input.hook_switches.disabled = settings.jit_disabled_hooks;
  const bool off = settings.mode == "legacy" && settings.cuda_compat_mode == "disabled";
  if (settings.disable_cuda_compat || off) {
    input.hook_switches.disabled.emplace_back("enable-cuda-compat");
  }
  input.additional_gids = !settings.no_additional_gids;
  container::TakeFeatures(settings.jit_features, input);
  return container::NvidiaCdiFrom(input, inventory.files);
}

Result<container::CdiEdits> EditsFrom(const container::CdiSpec& spec,
                                      const std::vector<DeviceRequest>& requests) {
  container::CdiEdits edits = spec.edits;
  for (const DeviceRequest& request : requests) {
    if (!request.kind.empty() && request.kind != spec.kind) {
      return Fail(ErrorKind::kInvalid,
                  format("find device {}={}: it cannot be mixed with devices of {}", request.kind,
                         request.device, spec.kind));
    }
    if (request.device == "none") {
      continue;
    }
    const auto device =
        std::ranges::find(spec.devices, request.device, &container::CdiDevice::name);
    if (device == spec.devices.end()) {
      return Fail(ErrorKind::kNotFound,
                  format("find device {}: the node has no such GPU", request.device));
    }
    container::AppendEdits(device->edits, edits);
  }
  return edits;
}

RequirementFacts FactsOf(const container::NodeInventory& inventory,
                         const std::vector<DeviceRequest>& requests) {
  RequirementFacts facts;
  std::set<std::string> brands;
  std::set<std::string> architectures;
  for (size_t i = 0; i < inventory.gpus.size() && i < inventory.kinds.size(); ++i) {
    const bool asked = std::ranges::any_of(
        requests, [&](const DeviceRequest& request) { return Names(request, inventory.gpus[i]); });
    if (asked) {
      brands.insert(inventory.kinds[i].brand);
      architectures.insert(inventory.kinds[i].architecture);
    }
  }
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) {
      facts[name] = value;
    }
  };
  set("cuda", inventory.driver.cuda_version);
  set("driver", inventory.files.version);
  set("brand", brands.size() == 1 ? *brands.begin() : "");
  set("arch", architectures.size() == 1 ? *architectures.begin() : "");
  return facts;
}

}  // namespace gantry::container_runtime
