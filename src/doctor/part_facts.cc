// SPDX-License-Identifier: Apache-2.0
// Which DaemonSets and Deployments are parts that a cluster must have only once? By their images
// and commands: installations name and label them differently.
#include "doctor/part_facts.h"

#include <algorithm>

#include "base/paths.h"
#include "doctor/object_fields.h"
#include "kube/object.h"
#include "policy/image.h"

namespace gantry::doctor {
namespace {

constexpr char kPluginProgram[] = "nvidia-device-plugin";

// "amd64" is an architecture.
bool IsForAmdGpus(const std::string& image) {
  return image.find("rocm") != std::string::npos || image.find("amd") != image.find("amd64");
}

bool RunsPluginProgram(const Json& container) {
  const std::vector<std::string> command = TextsAt(container, "command");
  return !command.empty() && BaseName(command[0]) == kPluginProgram;
}

// The image of NVIDIA's plugin also contains GPU feature discovery and the MPS control daemon;
// HAMi's contains its scheduler.
bool IsDevicePlugin(const Json& container) {
  const std::string image = TextAt(container, "image");
  const std::vector<std::string> command = TextsAt(container, "command");
  const bool hami = image.find("projecthami/hami") != std::string::npos;
  return RunsPluginProgram(container) ||
         ((command.empty() || command[0].find("device-plugin") != std::string::npos) && !hami &&
          !IsForAmdGpus(image) &&
          (image.find("k8s-device-plugin") != std::string::npos ||
           image.find("nvidia-gpu-device-plugin") != std::string::npos ||
           policy::ImageName(image) == kPluginProgram));
}

bool RunsImageLike(const Json& object, std::string_view words) {
  return std::ranges::any_of(ListAt(object, "spec.template.spec.containers"),
                             [words](const Json& container) {
                               return TextAt(container, "image").find(words) != std::string::npos;
                             });
}

// The operator's DaemonSets are known by name, unless they are copies: several run NVIDIA's image.
bool RunsDevicePlugin(const Json& object) {
  const bool ours = IsOurs(object);
  return (ours && TextAt(object, "metadata.name") == kDevicePluginSet) ||
         std::ranges::any_of(ListAt(object, "spec.template.spec.containers"),
                             ours ? RunsPluginProgram : IsDevicePlugin);
}

// Whatever its image's name.
bool IsCertManager(const Json& object) {
  const std::string* name = kube::LabelOf(object, "app.kubernetes.io/name");
  const std::string* component = kube::LabelOf(object, "app.kubernetes.io/component");
  return name != nullptr && *name == "cert-manager" && component != nullptr &&
         *component == "controller";
}

}  // namespace

// One without desired pods (a DaemonSet whose selector matches no node, a Deployment scaled to 0)
// does nothing.
std::optional<PartFacts> PartFrom(const Json& object) {
  const std::string kind = TextAt(object, "kind");
  const bool set = kind == kDaemonSet;
  const long long pods =
      set ? IntAt(object, "status.desiredNumberScheduled", 0) : IntAt(object, "spec.replicas", 1);
  if (pods == 0) {
    return std::nullopt;
  }
  const std::string name = ObjectName(object);
  if (set && RunsDevicePlugin(object)) {
    return PartFacts{.part = Part::kDevicePlugin,
                     .object = name,
                     .choice = ChoiceOf(object, "spec.template.spec")};
  }
  const std::string* role = kube::LabelOf(object, "role");
  if (!set && RunsImageLike(object, "node-feature-discovery") &&
      ((role != nullptr && *role == "master") ||
       TextAt(object, "metadata.name").ends_with("master"))) {
    return PartFacts{.part = Part::kNfdMaster, .object = name};
  }
  if (!set && (RunsImageLike(object, "cert-manager-controller") || IsCertManager(object))) {
    return PartFacts{.part = Part::kCertManager, .object = name};
  }
  return std::nullopt;
}

}  // namespace gantry::doctor
