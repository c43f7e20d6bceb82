// SPDX-License-Identifier: Apache-2.0

// Which objects does each operand need? Joins the list of operands with the files of this folder.

#include "operator/desired/operands.h"

#include <algorithm>
#include <array>

#include "operator/desired/exporter_options.h"
#include "operator/desired/makers.h"
#include "operator/desired/nvidia_pod.h"
#include "operator/desired/security_constraints.h"

namespace gantry::gpu_operator {
namespace {

using policy::OperandId;

// The makers of an operand's objects: for Gantry's image, and for NVIDIA's. `mistake`: what in its
// section prevents both.
struct Maker {
  OperandId id;
  Objects (*ours)(const Context& context, const std::string& image);
  Result<Objects> (*theirs)(const Context& context, const std::string& image);
  std::string (*mistake)(const policy::ClusterPolicy& policy) = nullptr;
};

constexpr std::array kMakers = std::to_array<Maker>({
    {OperandId::kNodeFeatures, NodeFeatures, nullptr},
    {OperandId::kPreRequisites, PreRequisites, nullptr},
    {OperandId::kOperatorMetrics, OperatorMetrics, nullptr},
    {OperandId::kDriver, nullptr, Driver},
    {OperandId::kContainerToolkit, ContainerToolkit, NvidiaContainerToolkit},
    {OperandId::kOperatorValidation, OperatorValidator, NvidiaOperatorValidator},
    {OperandId::kDevicePlugin, DevicePlugin, NvidiaDevicePlugin},
    {OperandId::kMpsControlDaemon, MpsControlDaemon, NvidiaMpsControlDaemon},
    {OperandId::kDcgm, nullptr, Dcgm},
    {OperandId::kDcgmExporter, DcgmExporter, NvidiaDcgmExporter, ExporterMistake},
    {OperandId::kGpuFeatureDiscovery, GpuFeatureDiscovery, NvidiaGpuFeatureDiscovery},
    {OperandId::kMigManager, MigManager, NvidiaMigManager},
    {OperandId::kNodeStatusExporter, NodeStatusExporter, NvidiaNodeStatusExporter},
    {OperandId::kVgpuManager, nullptr, VgpuManager},
    {OperandId::kVgpuDeviceManager, nullptr, VgpuDeviceManager},
    {OperandId::kSandboxValidation, SandboxValidator, NvidiaSandboxValidator},
    {OperandId::kVfioManager, VfioManager, NvidiaVfioManager},
    {OperandId::kSandboxDevicePlugin, SandboxDevicePlugin, NvidiaSandboxDevicePlugin},
    {OperandId::kKataDevicePlugin, nullptr, KataSandboxDevicePlugin},
    {OperandId::kCcManager, nullptr, CcManager},
    {OperandId::kCudaToolkit, nullptr, CudaToolkit},
    {OperandId::kDraDriver, DraDriver, NvidiaDraDriver},
});

// The section with its image: its own, or that of the operand whose image it shares.
std::string_view SectionOf(const policy::Operand& operand) {
  const auto all = policy::Operands();
  return std::ranges::find_if(all,
                              [&](const policy::Operand& other) {
                                return other.spec == operand.spec && !other.section.empty();
                              })
      ->section;
}

Result<Objects> Make(const Maker& maker, const Context& context, const DesiredOperand& desired) {
  const std::string& image = desired.image.image;
  if (maker.mistake != nullptr) {
    if (std::string mistake = maker.mistake(context.policy); !mistake.empty()) {
      return Fail(ErrorKind::kInvalid, std::move(mistake));
    }
  }
  const bool ours = maker.ours != nullptr && !desired.theirs;
  return ours ? maker.ours(context, image) : maker.theirs(context, image);
}

}  // namespace

std::set<std::string> NamedConfigMaps(const policy::ClusterPolicy& policy) {
  const policy::DriverOptions& driver = policy.driver_options;
  std::set<std::string> names = {policy.config_name};
  if (policy.driver.enabled) {
    names.insert({driver.kernel_module_config, driver.repo_config, driver.cert_config});
  }
  if (policy.sandbox && policy.vgpu_manager.enabled) {
    names.insert(policy.vgpu_kernel_module_config);
  }
  names.erase("");
  return names;
}

bool IsWhole(const DesiredOperand& operand) {
  // No policy says which driver the nodes should have: an existing one stays.
  if (operand.wanted && !operand.available && operand.operand->id == OperandId::kDriver) {
    return false;
  }
  const bool runs = operand.wanted && operand.available && !operand.operand->daemon_set.empty();
  return operand.mistake.empty() && !operand.partly &&
         (!runs || std::ranges::any_of(operand.objects, [](const Json& object) {
           return TextAt(object, "kind") == "DaemonSet";
         }));
}

std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features) {
  std::vector<DesiredOperand> all;
  Context own = context;
  for (const policy::Operand& operand : policy::Operands()) {
    own.state = operand.state;
    DesiredOperand& desired = all.emplace_back();
    desired.operand = &operand;
    desired.wanted = policy::Wanted(operand, context.policy) &&
                     (operand.id != OperandId::kNodeFeatures || node_features);
    const auto* const maker = std::ranges::find(kMakers, operand.id, &Maker::id);
    desired.available = maker != kMakers.end() && policy::CanRun(operand, context.policy);
    if (!desired.wanted || !desired.available) {
      continue;
    }
    if (operand.spec != nullptr) {
      auto image = policy::ChooseImage((context.policy.*operand.spec).image, context.release.image,
                                       SectionOf(operand));
      if (!image.has_value()) {
        desired.mistake = std::move(image).error().message;
        continue;
      }
      desired.image = *std::move(image);
      // Reported once, for the operand that the section is named after.
      desired.image.version_ignored &= !operand.section.empty();
    } else if (operand.runs != policy::Runs::kNothing) {
      desired.image.image = context.release.image;
    }
    desired.theirs = maker->ours != nullptr && maker->theirs != nullptr &&
                     !IsOurs(desired.image.image, context.release.image);
    auto objects = Make(*maker, own, desired);
    if (objects.has_value()) {
      AddConstraints(*objects, own, operand.constraints);
      desired.objects = *std::move(objects);
      desired.partly = (operand.id == OperandId::kDriver && !context.drivers.whole) ||
                       (operand.id == OperandId::kVgpuManager && !context.host_drivers.whole);
    } else {
      desired.mistake = std::move(objects).error().message;
    }
  }
  return all;
}

}  // namespace gantry::gpu_operator
