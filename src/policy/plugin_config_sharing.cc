// SPDX-License-Identifier: Apache-2.0
// Which resources are shared, in how many parts, and on which devices? Upstream reads `devices` and
// then shares all of them anyway. Here it has effect, because users write it to share some GPUs of
// a node and not the others.
#include "policy/plugin_config_sharing.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <utility>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

// An index ("0", "0:1" for a MIG device) or a UUID in one of NVIDIA's three forms.
bool IsDevice(const std::string& text) {
  static constexpr size_t kLongest = 80;
  static const std::regex device(
      "[0-9]+(:[0-9]+)?|(GPU|MIG)-[-0-9a-fA-F]+|MIG-GPU-[-0-9a-fA-F]+/[0-9]+/[0-9]+");
  // The length first: std::regex recurses for each character.
  return text.size() <= kLongest && std::regex_match(text, device);
}

Result<SharedDevices> Devices(const YAML::Node& node, const std::string& path,
                              std::vector<std::string>& warnings) {
  const auto wrong = [&] {
    return Wrong(path, "must be all, a number above 0, or a list of GPU indexes and UUIDs");
  };
  SharedDevices devices;
  if (node.IsScalar()) {
    if (node.Scalar() == "all") {
      return devices;
    }
    devices.count = Int(node, path).value_or(0);
    if (devices.count <= 0) {
      return wrong();
    }
    return devices;
  }
  if (!node.IsSequence()) {
    return wrong();
  }
  if (node.size() == 0) {
    warnings.push_back(format("{}: names none, so all are shared", path));
  }
  for (const auto& item : node) {
    if (!item.IsScalar() || !IsDevice(item.Scalar())) {
      return wrong();
    }
    devices.list.push_back(item.Scalar());
  }
  return devices;
}

Status ReadReplicas(const YAML::Node& node, const std::string& path, int& replicas) {
  TRY_ASSIGN(replicas, Int(node, path));
  if (replicas < 2) {
    return Wrong(path, format("must be at least 2, is {}", replicas));
  }
  return {};
}

// One of `sharing.timeSlicing` and `sharing.mps`.
class SharingReader {
 public:
  SharingReader(SharingStrategy strategy, std::vector<std::string>& warnings)
      : warnings_(warnings) {
    sharing_.strategy = strategy;
    sharing_.fail_requests_greater_than_one = strategy == SharingStrategy::kMps;
  }

  Status Read(const YAML::Node& node, const std::string& path) {
    TRY(ReadMap(
        node, path,
        {{"renameByDefault", Into(sharing_.rename_by_default, Bool)},
         {"failRequestsGreaterThanOne", Into(sharing_.fail_requests_greater_than_one, Bool)},
         {"resources",
          [&](const YAML::Node& list, const std::string& at) {
            return ReadList(list, at, [&](const YAML::Node& item, const std::string& where) {
              return ReadResource(item, where);
            });
          }}},
        warnings_));
    if (sharing_.resources.empty()) {
      return Wrong(KeyPath(path, "resources"), "must name at least one resource");
    }
    for (const auto& [at, name, rename] : renames_) {
      if (rename != sharing_.OfferedName(name)) {
        warnings_.push_back(format("{}: has no effect, the resource is offered as {}", at,
                                   sharing_.OfferedName(name)));
      }
    }
    return {};
  }

  Sharing Take() { return std::move(sharing_); }

 private:
  struct Rename {
    std::string path;
    std::string name;
    std::string rename;
  };

  Status ReadResource(const YAML::Node& node, const std::string& path) {
    SharedResource resource;
    std::optional<std::string> rename;
    TRY(ReadMap(node, path,
                {{"name", Into(resource.name, ResourceName)},
                 {"replicas",
                  [&](const YAML::Node& value, const std::string& at) {
                    return ReadReplicas(value, at, resource.replicas);
                  }},
                 {"rename", Into(rename, ResourceName)},
                 {"devices",
                  [&](const YAML::Node& value, const std::string& at) -> Status {
                    TRY_ASSIGN(resource.devices, Devices(value, at, warnings_));
                    return {};
                  }}},
                warnings_));
    if (resource.name.empty()) {
      return Wrong(KeyPath(path, "name"), "is required");
    }
    if (resource.replicas == 0) {
      return Wrong(KeyPath(path, "replicas"), "is required");
    }
    if (!MayBeOffered(resource.name)) {
      warnings_.push_back(
          format("{}: has no effect, no GPU is offered as {} (but as nvidia.com/gpu or "
                 "nvidia.com/mig-...)",
                 KeyPath(path, "name"), resource.name));
    }
    if (sharing_.IsShared(resource.name)) {
      TRY(Again(resource.name, KeyPath(path, "name")));
    }
    if (rename.has_value()) {
      renames_.push_back({KeyPath(path, "rename"), resource.name, *std::move(rename)});
    }
    sharing_.resources.push_back(std::move(resource));
    return {};
  }

  // A second entry of a resource. MPS has one daemon for a resource, with one number of clients.
  Status Again(const std::string& name, const std::string& path) {
    if (sharing_.strategy == SharingStrategy::kMps) {
      return Wrong(path, format("{} occurs twice", name));
    }
    warnings_.push_back(format(
        "{}: {} occurs twice, the most replicas count where a device is meant twice", path, name));
    return {};
  }

  Sharing sharing_;
  std::vector<Rename> renames_;
  std::vector<std::string>& warnings_;
};

}  // namespace

Result<std::string> ResourceName(const YAML::Node& node, const std::string& path) {
  static constexpr size_t kLongest = 63;
  static const std::regex subdomain(
      "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  TRY_ASSIGN(std::string name, Text(node, path));
  const std::string prefix = format("{}/", names::kNvidiaGroup);
  if (!name.starts_with(prefix)) {
    name.insert(0, prefix);
  }
  if (name.size() > kLongest || !std::regex_match(name.substr(prefix.size()), subdomain)) {
    return Wrong(path, format("\"{}\" is no resource name of {} (at most 63 characters)", name,
                              names::kNvidiaGroup));
  }
  return name;
}

Status ReadSharing(const YAML::Node& node, const std::string& path, PluginConfig& config) {
  std::optional<Sharing> time_slicing;
  std::optional<Sharing> mps;
  const auto reader = [&config](SharingStrategy strategy, std::optional<Sharing>& into) {
    return [&config, strategy, &into](const YAML::Node& map, const std::string& at) -> Status {
      SharingReader sharing(strategy, config.warnings);
      TRY(sharing.Read(map, at));
      into = sharing.Take();
      return {};
    };
  };
  TRY(ReadMap(node, path,
              {{"timeSlicing", reader(SharingStrategy::kTimeSlicing, time_slicing)},
               {"mps", reader(SharingStrategy::kMps, mps)}},
              config.warnings));
  if (mps.has_value() && time_slicing.has_value()) {
    config.warnings.push_back("sharing.timeSlicing: has no effect beside sharing.mps");
  }
  if (mps.has_value() || time_slicing.has_value()) {
    config.sharing = mps.has_value() ? *std::move(mps) : *std::move(time_slicing);
  }
  return {};
}

bool MayBeOffered(std::string_view resource) {
  return resource == names::kGpuResource || resource.starts_with(names::kMigResourcePrefix);
}

int Sharing::ReplicasOf(std::string_view resource) const {
  int most = 1;
  for (const auto& shared : resources) {
    most = shared.name == resource ? std::max(most, shared.replicas) : most;
  }
  return most;
}

bool Sharing::IsShared(std::string_view resource) const {
  return std::ranges::find(resources, resource, &SharedResource::name) != resources.end();
}

std::string Sharing::OfferedName(std::string_view resource) const {
  return format("{}{}", resource,
                rename_by_default && IsShared(resource) ? names::kSharedSuffix : "");
}

}  // namespace gantry::policy
