// SPDX-License-Identifier: Apache-2.0
// Who may have a GPU by asking in the container's configuration. Images set NVIDIA_VISIBLE_DEVICES
// by default, so an unprivileged container gets nothing by it unless the administrator says so:
// otherwise every pod from a CUDA image would see all GPUs of its node.
#include "operands/container_runtime/device_requests.h"

#include <algorithm>

#include "base/text.h"
#include "container/cdi.h"
#include "container/oci.h"
#include "policy/names.h"

namespace gantry::container_runtime {
namespace {

constexpr std::string_view kMountFolder = "/var/run/nvidia-container-devices/";

DeviceRequest Named(std::string_view text) {
  if (auto name = container::ParseCdiName(text)) {
    return {std::move(name->kind), std::move(name->device)};
  }
  return {"", std::string(text)};
}

std::vector<DeviceRequest> FromAnnotations(const Json& config, const RuntimeConfig& settings) {
  std::vector<DeviceRequest> found;
  const Json* annotations = At(config, "annotations");
  if (annotations == nullptr || !annotations->is_object()) {
    return found;
  }
  for (const auto& [key, value] : annotations->items()) {
    const bool ours = std::ranges::any_of(
        settings.annotation_prefixes, [&](const auto& prefix) { return key.starts_with(prefix); });
    if (ours && value.is_string()) {
      for (const std::string& name : Split(value.get_ref<const std::string&>(), ',')) {
        found.push_back(Named(name));
      }
    }
  }
  return found;
}

// "<folder>/<id>", "<folder>/cdi/<vendor>/<class>/<device>".
std::vector<DeviceRequest> FromMounts(const Json& config) {
  std::vector<DeviceRequest> found;
  const Json* mounts = At(config, "mounts");
  if (mounts == nullptr || !mounts->is_array()) {
    return found;
  }
  for (const Json& mount : *mounts) {
    std::string place = TextAt(mount, "destination");
    if (TextAt(mount, "source") != "/dev/null" || !place.starts_with(kMountFolder)) {
      continue;
    }
    place.erase(0, kMountFolder.size());
    if (place.starts_with("imex/")) {
      continue;
    }
    if (place.starts_with("cdi/")) {
      place.erase(0, 4);
      if (place.find('=') == std::string::npos && place.rfind('/') != std::string::npos) {
        place[place.rfind('/')] = '=';
      }
    }
    found.push_back(Named(place));
  }
  return found;
}

}  // namespace

DeviceRequests RequestedDevices(const Json& config, const RuntimeConfig& settings) {
  DeviceRequests requests;
  requests.devices = FromAnnotations(config, settings);
  if (!requests.devices.empty()) {
    return requests;
  }
  if (settings.accept_mounts) {
    requests.devices = FromMounts(config);
    if (!requests.devices.empty()) {
      return requests;
    }
  }
  const container::OciRequest oci = container::ReadOciRequest(config);
  const std::string value = container::OciEnvironment(oci, names::kVisibleDevices).value_or("");
  if (value.empty() || value == "void") {
    return requests;
  }
  if (!oci.privileged && !settings.accept_environment) {
    requests.refused = format(
        "{}={} is not followed: the container is not privileged and "
        "accept-nvidia-visible-devices-envvar-when-unprivileged is false",
        names::kVisibleDevices, value);
    return requests;
  }
  for (const std::string& name : Split(value, ',')) {
    if (!Trim(name).empty()) {
      requests.devices.push_back(Named(Trim(name)));
    }
  }
  return requests;
}

}  // namespace gantry::container_runtime
