// SPDX-License-Identifier: Apache-2.0
// Which GPUs may a container get by a request in its configuration? Images set
// NVIDIA_VISIBLE_DEVICES by default, so an unprivileged container gets nothing by it unless the
// administrator allows it: otherwise every pod from a CUDA image would see all GPUs of its node.
#include "operands/container_runtime/device_requests.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "container/cdi.h"
#include "policy/names.h"

namespace gantry::container_runtime {
namespace {

using container::OciEnvironment;
using container::OciRequest;

constexpr std::string_view kMountFolder = "/var/run/nvidia-container-devices/";
constexpr long long kMostImexChannels = 1048576;

bool IsAuto(const RuntimeConfig& settings) {
  return settings.mode == "auto" || settings.mode.empty();
}

bool AreCdiNames(const std::vector<DeviceRequest>& devices) {
  return std::ranges::none_of(devices,
                              [](const DeviceRequest& request) { return request.kind.empty(); });
}

DeviceRequest Named(std::string_view text) {
  if (auto name = container::ParseCdiName(text)) {
    return {std::move(name->kind), std::move(name->device)};
  }
  return {"", std::string(text)};
}

// In mode auto they count if all of them are CDI names: then the mode is cdi.
std::vector<DeviceRequest> FromAnnotations(const Json& config, const RuntimeConfig& settings) {
  std::vector<DeviceRequest> found;
  const Json* annotations = At(config, "annotations");
  const bool cdi = settings.mode == "cdi";
  if (annotations == nullptr || !annotations->is_object() || !(cdi || IsAuto(settings))) {
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
  return cdi || AreCdiNames(found) ? found : std::vector<DeviceRequest>{};
}

// The entries below the folder of device mounts: "<id>", "cdi/<vendor>/<class>/<device>",
// "imex/<channel>".
std::vector<std::string> DeviceMounts(const Json& config) {
  std::vector<std::string> found;
  const Json* mounts = At(config, "mounts");
  if (mounts == nullptr || !mounts->is_array()) {
    return found;
  }
  for (const Json& mount : *mounts) {
    const std::string place = TextAt(mount, "destination");
    if (TextAt(mount, "source") == "/dev/null" && place.starts_with(kMountFolder)) {
      found.push_back(place.substr(kMountFolder.size()));
    }
  }
  return found;
}

std::vector<DeviceRequest> FromMounts(const Json& config) {
  std::vector<DeviceRequest> found;
  for (std::string place : DeviceMounts(config)) {
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

// An image from before NVIDIA_REQUIRE_CUDA: it implicitly requests everything.
bool IsLegacyImage(const OciRequest& oci) {
  return !OciEnvironment(oci, "CUDA_VERSION").value_or("").empty() &&
         !OciEnvironment(oci, "NVIDIA_REQUIRE_CUDA");
}

// The value of NVIDIA_VISIBLE_DEVICES, or of the variables that an administrator configured
// instead.
std::string VisibleDevices(const OciRequest& oci, const RuntimeConfig& settings) {
  std::vector<std::string> values;
  for (const std::string& name : settings.swarm_resources) {
    if (auto value = OciEnvironment(oci, name); value && !value->empty()) {
      values.push_back(*value);
    }
  }
  if (!values.empty()) {
    return Join(values, ",");
  }
  const auto value = OciEnvironment(oci, names::kVisibleDevices);
  return value || !IsLegacyImage(oci) ? value.value_or("") : "all";
}

void FromEnvironment(const OciRequest& oci, const RuntimeConfig& settings,
                     DeviceRequests& requests) {
  const std::string value = VisibleDevices(oci, settings);
  if (value.empty() || value == "void") {
    return;
  }
  if (!oci.privileged && !settings.accept_environment) {
    requests.refused = format(
        "{}={} is not followed: the container is not privileged and "
        "accept-nvidia-visible-devices-envvar-when-unprivileged is false",
        names::kVisibleDevices, value);
    return;
  }
  for (const std::string& name : Split(value, ',')) {
    if (!Trim(name).empty()) {
      requests.devices.push_back(Named(Trim(name)));
    }
  }
}

void AddImexChannels(const Json& config, const OciRequest& oci, const RuntimeConfig& settings,
                     DeviceRequests& requests) {
  std::vector<std::string> channels;
  for (const std::string& place :
       settings.accept_mounts ? DeviceMounts(config) : std::vector<std::string>{}) {
    if (place.starts_with("imex/")) {
      channels.push_back(place.substr(5));
    }
  }
  if (channels.empty() && (oci.privileged || settings.accept_environment)) {
    channels = Split(OciEnvironment(oci, "NVIDIA_IMEX_CHANNELS").value_or(""), ',');
  }
  for (const std::string& channel : channels) {
    const auto number = ParseInt(Trim(channel));
    if (number && *number >= 0 && *number < kMostImexChannels) {
      requests.imex_channels.push_back(format("{}", *number));
    }
  }
}

Status AddRights(const OciRequest& oci, DeviceRequests& requests) {
  for (const auto& [variable, node] : {std::pair{"NVIDIA_MIG_CONFIG_DEVICES", "config"},
                                       std::pair{"NVIDIA_MIG_MONITOR_DEVICES", "monitor"}}) {
    const std::string value = OciEnvironment(oci, variable).value_or("");
    if (value.empty()) {
      continue;
    }
    if (!oci.privileged) {
      return Fail(ErrorKind::kDenied,
                  format("follow {}={}: the container is not privileged", variable, value));
    }
    requests.mig_nodes.emplace_back(node);
  }
  return {};
}

}  // namespace

Result<DeviceRequests> RequestedDevices(const Json& config, const RuntimeConfig& settings) {
  const OciRequest oci = container::ReadOciRequest(config);
  DeviceRequests requests;
  requests.devices = FromAnnotations(config, settings);
  if (requests.devices.empty() && settings.accept_mounts) {
    requests.devices = FromMounts(config);
  }
  if (requests.devices.empty()) {
    FromEnvironment(oci, settings, requests);
  }
  if (requests.devices.empty()) {
    return requests;
  }
  constexpr std::array kFeatures = {
      std::pair{"NVIDIA_GDS", "gds"}, std::pair{"NVIDIA_MOFED", "mofed"},
      std::pair{"NVIDIA_GDRCOPY", "gdrcopy"}, std::pair{"NVIDIA_NVSWITCH", "nvswitch"}};
  for (const auto& [variable, feature] : kFeatures) {
    if (OciEnvironment(oci, variable) == "enabled") {
      requests.features.emplace_back(feature);
    }
  }
  if (!settings.ignore_imex_requests) {
    AddImexChannels(config, oci, settings, requests);
  }
  TRY(AddRights(oci, requests));
  return requests;
}

bool IsOfNvidia(const DeviceRequest& request, std::string_view default_kind) {
  const std::string_view kind = request.kind;
  const std::string_view vendor = kind.substr(0, kind.find('/'));
  return kind.empty() || kind == default_kind || vendor == "nvidia.com" ||
         vendor.ends_with(".nvidia.com");
}

Result<Mode> ResolveMode(const RuntimeConfig& settings, const DeviceRequests& requests,
                         bool tegra) {
  constexpr std::array kModes = {std::pair{std::string_view("cdi"), Mode::kCdi},
                                 std::pair{std::string_view("jit-cdi"), Mode::kJitCdi},
                                 std::pair{std::string_view("csv"), Mode::kCsv},
                                 std::pair{std::string_view("legacy"), Mode::kLegacy}};
  for (const auto& [name, mode] : kModes) {
    if (settings.mode == name) {
      return mode;
    }
  }
  if (!IsAuto(settings)) {
    return Fail(ErrorKind::kInvalid,
                format("read config.toml: nvidia-container-runtime.mode {} is not auto, cdi, "
                       "jit-cdi, legacy or csv",
                       settings.mode));
  }
  const bool named = !requests.devices.empty() && AreCdiNames(requests.devices);
  return named ? Mode::kCdi : tegra ? Mode::kCsv : Mode::kJitCdi;
}

Result<container::Capabilities> RequestedCapabilities(const OciRequest& request,
                                                      const RuntimeConfig& settings, Mode mode) {
  TRY_ASSIGN(const container::Capabilities supported,
             container::ParseCapabilities(settings.supported_capabilities, {}));
  const std::string value = OciEnvironment(request, names::kDriverCapabilities).value_or("");
  TRY_ASSIGN(const container::Capabilities asked, container::ParseCapabilities(value, supported));
  if (asked.bits != 0) {
    return asked;
  }
  if (IsLegacyImage(request) || mode != Mode::kLegacy) {
    return supported;
  }
  return container::Capabilities{
      supported.bits & (container::Capabilities::kUtility | container::Capabilities::kCompute)};
}

}  // namespace gantry::container_runtime
