// SPDX-License-Identifier: Apache-2.0
// What do the parameters of a claim ask for? Every field of GpuConfig and MigDeviceConfig is
// checked, also those that have no effect here: a mistyped one must not be taken for an absent one.
// A null counts as absent, as in Go's decoder.
#include "operands/dra_driver/claim_config.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/text.h"

namespace gantry::dra_driver {
namespace {

constexpr std::string_view kApiVersion = "resource.nvidia.com/v1beta1";

// The field's value; null if it is absent.
const Json* Field(const Json& map, const char* name) {
  const auto found = map.find(name);
  return found == map.end() || found->is_null() ? nullptr : &*found;
}

std::unexpected<Error> Wrong(const std::string& path, std::string_view reason) {
  return Fail(ErrorKind::kInvalid, format("strict decoding error: {}: {}", path, reason));
}

Status CheckMap(const Json& map, const std::string& path,
                std::initializer_list<std::string_view> known) {
  if (!map.is_object()) {
    return Wrong(path, "not an object");
  }
  for (const auto& [key, value] : map.items()) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      return Fail(ErrorKind::kInvalid, format("strict decoding error: unknown field \"{}{}{}\"",
                                              path, path.empty() ? "" : ".", Cut(key, 64)));
    }
  }
  return {};
}

Result<std::string> TextField(const Json& map, const char* name, const std::string& path) {
  const Json* value = Field(map, name);
  if (value == nullptr) {
    return "";
  }
  if (!value->is_string()) {
    return Wrong(path + "." + name, "not a string");
  }
  return value->get<std::string>();
}

// A quantity of at least 1 MiB, which NVIDIA's MPS counts in; numbers count bytes.
Status CheckMemory(const Json& value, const std::string& path) {
  const std::string text = value.is_string()           ? value.get<std::string>()
                           : value.is_number_integer() ? value.dump()
                                                       : "";
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  constexpr std::array<std::string_view, 13> kUnits = {"",   "k",  "M",  "G",  "T",  "P", "E",
                                                       "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (digits == 0 || std::ranges::count(text, '.') > 1 || text.front() == '.' ||
      std::ranges::find(kUnits, unit) == kUnits.end()) {
    return Wrong(path, "not a quantity, such as 10Gi");
  }
  if (std::string_view(text).substr(0, digits).find_first_of("123456789") ==
      std::string_view::npos) {
    return Wrong(path, "must be more than 0");
  }
  return {};
}

Status CheckMps(const Json& mps, const std::string& path) {
  TRY(CheckMap(mps, path,
               {"defaultActiveThreadPercentage", "defaultPinnedDeviceMemoryLimit",
                "defaultPerDevicePinnedMemoryLimit", "multiUser"}));
  if (const Json* percent = Field(mps, "defaultActiveThreadPercentage")) {
    if (!percent->is_number_integer() || *percent < 0 || *percent > 100) {
      return Wrong(path + ".defaultActiveThreadPercentage", "not a number from 0 to 100");
    }
  }
  if (const Json* limit = Field(mps, "defaultPinnedDeviceMemoryLimit")) {
    TRY(CheckMemory(*limit, path + ".defaultPinnedDeviceMemoryLimit"));
  }
  if (const Json* limits = Field(mps, "defaultPerDevicePinnedMemoryLimit")) {
    const std::string below = path + ".defaultPerDevicePinnedMemoryLimit";
    if (!limits->is_object()) {
      return Wrong(below, "not an object");
    }
    for (const auto& [device, limit] : limits->items()) {
      TRY(CheckMemory(limit, below + "." + std::string(Cut(device, 64))));
    }
  }
  if (const Json* multi = Field(mps, "multiUser"); multi != nullptr && !multi->is_boolean()) {
    return Wrong(path + ".multiUser", "not true or false");
  }
  return {};
}

Status CheckTimeSlicing(const Json& slicing, const std::string& path) {
  TRY(CheckMap(slicing, path, {"interval"}));
  TRY_ASSIGN(const std::string interval, TextField(slicing, "interval", path));
  if (!interval.empty() && interval != "Default" && interval != "Short" && interval != "Medium" &&
      interval != "Long") {
    return Wrong(path + ".interval", "must be Default, Short, Medium or Long");
  }
  return {};
}

Result<Sharing> DecodeSharing(const Json& sharing, DeviceType type) {
  const std::string path = "sharing";
  TRY(type == DeviceType::kGpu
          ? CheckMap(sharing, path, {"strategy", "timeSlicingConfig", "mpsConfig"})
          : CheckMap(sharing, path, {"strategy", "mpsConfig"}));
  const Json* slicing = Field(sharing, "timeSlicingConfig");
  const Json* mps = Field(sharing, "mpsConfig");
  if (slicing != nullptr) {
    TRY(CheckTimeSlicing(*slicing, path + ".timeSlicingConfig"));
  }
  if (mps != nullptr) {
    TRY(CheckMps(*mps, path + ".mpsConfig"));
  }
  TRY_ASSIGN(const std::string strategy, TextField(sharing, "strategy", path));
  if (strategy == "TimeSlicing") {
    return mps == nullptr ? Result<Sharing>(Sharing::kTimeSlicing)
                          : Wrong(path + ".mpsConfig", "is for the strategy MPS");
  }
  if (strategy == "MPS") {
    return slicing == nullptr
               ? Result<Sharing>(Sharing::kMps)
               : Wrong(path + ".timeSlicingConfig", "is for the strategy TimeSlicing");
  }
  return Wrong(path + ".strategy", "must be TimeSlicing or MPS");
}

}  // namespace

Result<ClaimConfig> DecodeConfig(const Json& parameters) {
  if (!parameters.is_object()) {
    return Wrong("parameters", "not an object");
  }
  TRY_ASSIGN(const std::string version, TextField(parameters, "apiVersion", "parameters"));
  TRY_ASSIGN(const std::string kind, TextField(parameters, "kind", "parameters"));
  ClaimConfig config;
  if (version == kApiVersion && kind == "MigDeviceConfig") {
    config.type = DeviceType::kMig;
  } else if (version != kApiVersion || kind != "GpuConfig") {
    return Fail(ErrorKind::kUnsupported,
                format("parameters: kind {} of {} is not supported; use GpuConfig or "
                       "MigDeviceConfig of {}",
                       Cut(kind, 64), Cut(version, 64), kApiVersion));
  }
  TRY(CheckMap(parameters, "", {"apiVersion", "kind", "sharing"}));
  if (const Json* sharing = Field(parameters, "sharing")) {
    TRY_ASSIGN(config.sharing, DecodeSharing(*sharing, config.type));
  }
  return config;
}

Status CheckGates(const ClaimConfig& config) {
  // On a MIG device time-slicing has no effect, in NVIDIA's driver either.
  if (config.sharing == Sharing::kTimeSlicing && config.type == DeviceType::kGpu) {
    return Fail(ErrorKind::kUnsupported,
                "\"TimeSlicing\" is selected as the GPU sharing strategy, but the "
                "\"TimeSlicingSettings\" feature gate is not enabled");
  }
  if (config.sharing == Sharing::kMps) {
    return Fail(ErrorKind::kUnsupported,
                "\"MPS\" is selected as the GPU sharing strategy, but the \"MPSSupport\" feature "
                "gate is not enabled");
  }
  return {};
}

}  // namespace gantry::dra_driver
