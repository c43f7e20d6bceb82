// SPDX-License-Identifier: Apache-2.0

// Which objects does each operand come to? Joins the list of operands with the files of this
// folder.

#include "operator/desired/context.h"

namespace gantry::gpu_operator {
namespace {

const policy::OperandSpec* SpecOf(const policy::Operand& operand,
                                  const policy::ClusterPolicy& policy) {
  if (operand.section == "toolkit") {
    return &policy.toolkit;
  }
  if (operand.section == "devicePlugin" || operand.state == "state-mps-control-daemon") {
    return &policy.device_plugin;
  }
  if (operand.section == "gfd") {
    return &policy.gfd;
  }
  if (operand.section == "nodeStatusExporter") {
    return &policy.node_status_exporter;
  }
  return operand.section == "validator" ? &policy.validator : nullptr;
}

Objects ObjectsOf(std::string_view state, const Context& context, const std::string& image) {
  if (state == "node-features") {
    return NodeFeatures(context);
  }
  if (state == "pre-requisites") {
    return PreRequisites(context);
  }
  if (state == "state-operator-metrics") {
    return OperatorMetrics(context);
  }
  if (state == "state-container-toolkit") {
    return ContainerToolkit(context, image);
  }
  if (state == "state-operator-validation") {
    return OperatorValidator(context, image);
  }
  if (state == "state-device-plugin") {
    return DevicePlugin(context, image);
  }
  if (state == "state-mps-control-daemon") {
    return MpsControlDaemon(context, image);
  }
  if (state == "state-node-status-exporter") {
    return NodeStatusExporter(context, image);
  }
  CHECK(state == "gpu-feature-discovery");
  return GpuFeatureDiscovery(context, image);
}

}  // namespace

std::vector<DesiredOperand> DesiredOperands(const Context& context, bool node_features) {
  std::vector<DesiredOperand> all;
  for (const policy::Operand& operand : policy::Operands()) {
    DesiredOperand& desired = all.emplace_back();
    desired.operand = &operand;
    desired.wanted = policy::Wanted(operand, context.policy) &&
                     (operand.state != "node-features" || node_features);
    if (!desired.wanted || !operand.available) {
      continue;
    }
    if (const policy::OperandSpec* spec = SpecOf(operand, context.policy); spec != nullptr) {
      auto image = policy::ChooseImage(spec->image, context.image,
                                       operand.section.empty() ? "devicePlugin" : operand.section);
      if (!image.has_value()) {
        desired.mistake = std::move(image).error().message;
        continue;
      }
      desired.image = *std::move(image);
      // Said once, at the operand that the section is named after.
      desired.image.version_ignored &= !operand.section.empty();
    } else if (!operand.daemon_set.empty()) {
      desired.image.image = context.image;
    }
    desired.objects = ObjectsOf(operand.state, context, desired.image.image);
  }
  return all;
}

}  // namespace gantry::gpu_operator
