// SPDX-License-Identifier: Apache-2.0
// Which labels does one resource of a node get, a GPU's or a MIG device's? Strategy "single" speaks
// of the MIG devices as if they were the node's GPUs, so it has labels only for nodes where all of
// them are alike; "mixed" has a set of labels for each profile beside those of the GPUs.
#include "operands/gpu_features/resource_labels.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

using nvml::Device;
using nvml::MigDevice;
using policy::MigStrategy;
using policy::SharingStrategy;

constexpr size_t kLongestValue = 63;

bool IsAlphanumeric(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

// "1g.10gb+me" -> "1g.10gb.me", as in labels and resource names.
std::string LabelProfile(std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return profile;
}

// The MIG devices of one profile on all GPUs.
struct Profile {
  const MigDevice* first = nullptr;
  std::string product;  // of the GPU that the first is on
  int count = 0;
};
using Profiles = std::map<std::string, Profile>;  // by LabelProfile

Profiles ProfilesOf(const Facts& facts) {
  Profiles profiles;
  for (const Device& gpu : facts.gpus) {
    for (const MigDevice& device : gpu.mig_devices) {
      Profile& profile = profiles[LabelProfile(device.profile)];
      if (profile.first == nullptr) {
        profile.first = &device;
        profile.product = gpu.name;
      }
      ++profile.count;
    }
  }
  return profiles;
}

void AddProfile(const std::string& key, const std::string& resource, const std::string& name,
                const Profile& profile, const policy::Sharing& sharing, LabelMap& labels) {
  const nvml::MigAttributes& attributes = profile.first->attributes;
  AddResource({.key = key,
               .product = profile.product,
               .suffix = "-MIG-" + name,
               .count = profile.count,
               .replicas = sharing.ReplicasOf(resource),
               .memory_mib = attributes.memory_mib},
              sharing, labels);
  const std::pair<const char*, unsigned> numbers[] = {
      {"multiprocessors", attributes.multiprocessors}, {"slices.gi", attributes.gpu_slices},
      {"slices.ci", attributes.compute_slices},        {"engines.copy", attributes.copy_engines},
      {"engines.decoder", attributes.decoders},        {"engines.encoder", attributes.encoders},
      {"engines.jpeg", attributes.jpeg_engines},       {"engines.ofa", attributes.ofa_engines},
  };
  for (const auto& [suffix, number] : numbers) {
    labels[key + suffix] = format("{}", number);
  }
}

// Why strategy single can't speak of these GPUs; empty if it can.
std::string WhyInvalid(const Facts& facts, const Profiles& profiles) {
  if (!std::ranges::all_of(facts.gpus, InMigMode)) {
    return "some GPUs are in MIG mode and some are not";
  }
  const auto empty =
      std::ranges::find_if(facts.gpus, [](const Device& gpu) { return gpu.mig_devices.empty(); });
  if (empty != facts.gpus.end()) {
    return format("GPU {} is in MIG mode and has no MIG device", empty->index);
  }
  return profiles.size() > 1 ? format("there are MIG devices of {} profiles", profiles.size()) : "";
}

void AddSingle(const Facts& facts, const std::string& product, const policy::Sharing& sharing,
               Labelled& labelled) {
  const Profiles profiles = ProfilesOf(facts);
  if (const std::string why = WhyInvalid(facts, profiles); !why.empty()) {
    labelled.mig_invalid = true;
    labelled.warnings.push_back(format("{}: single does not fit, {}", names::kMigStrategy, why));
    LabelMap& labels = labelled.labels;
    labels[names::kGpuProduct] = LabelValue(product, "-MIG-INVALID");
    labels[names::kGpuCount] = "0";
    labels[names::kGpuReplicas] = "0";
    labels[names::kGpuMemory] = "0";
    labels[names::kGpuSharingStrategy] = "";
    return;
  }
  const auto& [name, profile] = *profiles.begin();
  AddProfile(names::kGpuLabelPrefix, names::kGpuResource, name, profile, sharing, labelled.labels);
}

}  // namespace

void AddResource(const ResourceFacts& resource, const policy::Sharing& sharing, LabelMap& labels) {
  const bool shared = resource.replicas > 1;
  labels[resource.key + "product"] = LabelValue(
      resource.product, resource.suffix + (shared && !sharing.rename_by_default ? "-SHARED" : ""));
  labels[resource.key + "count"] = format("{}", resource.count);
  labels[resource.key + "replicas"] = format("{}", resource.replicas);
  labels[resource.key + "sharing-strategy"] =
      policy::Name(shared ? sharing.strategy : SharingStrategy::kNone);
  if (resource.memory_mib > 0) {
    labels[resource.key + "memory"] = format("{}", resource.memory_mib);
  }
}

bool InMigMode(const Device& gpu) { return gpu.mig == nvml::MigMode::kEnabled; }

void AddMigDevices(const Facts& facts, const std::string& product, const LabelOptions& options,
                   Labelled& labelled) {
  if (options.mig_strategy == MigStrategy::kMixed) {
    for (const auto& [name, profile] : ProfilesOf(facts)) {
      const std::string resource = format("{}{}", names::kMigResourcePrefix, name);
      AddProfile(resource + ".", resource, name, profile, options.sharing, labelled.labels);
    }
  } else if (std::ranges::any_of(facts.gpus, InMigMode)) {
    AddSingle(facts, product, options.sharing, labelled);
  }
}

std::string LabelValue(std::string_view text, std::string_view suffix) {
  std::string value;
  bool gap = false;
  for (const char letter : Trim(text)) {
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
      gap = true;
    } else if (IsAlphanumeric(letter) || letter == '-' || letter == '_' || letter == '.') {
      value += gap ? "-" : "";
      value += letter;
      gap = false;
    }
  }
  value.resize(std::min(value.size(), kLongestValue - std::min(kLongestValue, suffix.size())));
  while (!value.empty() && !IsAlphanumeric(value.back())) {
    value.pop_back();
  }
  value.erase(0, static_cast<size_t>(std::ranges::find_if(value, IsAlphanumeric) - value.begin()));
  return value.empty() ? value : value.append(suffix);
}

}  // namespace gantry::gpu_features
