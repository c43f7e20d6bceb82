// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "policy/known_images.h"

namespace gantry::gpu_operator {

// The release's own images and settings, which the chart sets, not the policy.
struct Release {
  std::string image = {};
  std::string pull_policy = "IfNotPresent";    // of that image, if the policy has none
  std::vector<std::string> pull_secrets = {};  // names of Secrets, for that image
  std::string worker_config = {};  // of Gantry's node feature discovery workers, as YAML
  // The chart's values for those workers' pods: nodeSelector, affinity, tolerations, resources,
  // priorityClassName, annotations; null: none.
  Json worker_pod = {};
  std::string driver_manager = {};  // NVIDIA's image of it, if the policy names none
  std::string cuda_image = {};      // NVIDIA's images of CUDA, without a tag, likewise
  policy::KnownImages known_images = {
      {"driver", "nvcr.io/nvidia/driver"},
      {"migManager", "nvcr.io/nvidia/cloud-native/k8s-mig-manager"},
      {"vfioManager", "nvcr.io/nvidia/cloud-native/k8s-driver-manager"},
      {"sandboxDevicePlugin", "nvcr.io/nvidia/kubevirt-gpu-device-plugin"}};
  bool operator==(const Release&) const = default;
};

}  // namespace gantry::gpu_operator
