// SPDX-License-Identifier: Apache-2.0
// Which labels does one resource of a node get, a GPU's or a MIG device's? Strategy "single"
// describes the MIG devices as if they were the node's GPUs, so it has labels only for nodes where
// all are equal; "mixed" has a set of labels for each profile in addition to the GPUs'.
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

// The MIG devices of one profile on all GPUs.
struct Profile {
  std::string name;  // as in labels: "1g.10gb.me"
  const MigDevice* first = nullptr;
  std::string product;  // of the first one's GPU
};

// One for each resource that the strategy mixed would have.
std::map<std::string, Profile> ProfilesOf(const Facts& facts) {
  std::map<std::string, Profile> profiles;
  for (const Device& gpu : facts.gpus) {
    for (const MigDevice& device : gpu.mig_devices) {
      std::string resource = gpu::MigResource(device.profile);
      std::string name = resource.substr(std::string_view(names::kMigResourcePrefix).size());
      profiles.try_emplace(std::move(resource),
                           Profile{.name = std::move(name), .first = &device, .product = gpu.name});
    }
  }
  return profiles;
}

bool IsMig(const gpu::Unit& unit) { return unit.is_mig(); }

void AddProfile(const std::string& key, const Profile& profile, const Tally& offered,
                const policy::Sharing& sharing, LabelMap& labels) {
  const nvml::MigAttributes& attributes = profile.first->attributes;
  AddResource({.key = key,
               .product = profile.product,
               .suffix = "-MIG-" + profile.name,
               .count = offered.count,
               .replicas = offered.replicas,
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

void AddInvalid(const std::string& product, LabelMap& labels) {
  labels[names::kGpuProduct] = LabelValue(product, "-MIG-INVALID");
  labels[names::kGpuCount] = "0";
  labels[names::kGpuReplicas] = "0";
  labels[names::kGpuMemory] = "0";
  labels[names::kGpuSharingStrategy] = "";
}

void AddSingle(const Facts& facts, const gpu::ForContainers& offered, const std::string& product,
               const policy::Sharing& sharing, Labelled& labelled) {
  const auto warn = [&labelled](const std::string& what) {
    labelled.mig_unsettled = true;
    labelled.warnings.push_back(format("{}: {}", names::kMigStrategy, what));
  };
  for (const Device& gpu : facts.gpus) {
    if (InMigMode(gpu) && gpu.mig_devices.empty()) {
      warn(format("GPU {} is in MIG mode and has no MIG device, so it is left out", gpu.index));
    }
  }
  if (!offered.unlike.empty()) {
    warn("single does not fit, " + offered.unlike);
    AddInvalid(product, labelled.labels);
    return;
  }
  const auto profiles = ProfilesOf(facts);
  if (!profiles.empty()) {
    AddProfile(names::kGpuLabelPrefix, profiles.begin()->second,
               TallyOf(offered, names::kGpuResource, IsMig), sharing, labelled.labels);
  } else if (offered.offered.empty()) {
    AddInvalid(product, labelled.labels);
  }
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

Tally TallyOf(const gpu::ForContainers& offered, std::string_view resource,
              const std::function<bool(const gpu::Unit&)>& counts) {
  Tally tally;
  for (const gpu::OfferedUnits& one : offered.offered) {
    for (const gpu::Unit& unit : one.units) {
      if (one.resource == resource && counts(unit)) {
        ++tally.count;
        tally.replicas = std::max(tally.replicas, unit.replicas);
      }
    }
  }
  return tally;
}

void AddMigDevices(const Facts& facts, const gpu::ForContainers& offered,
                   const std::string& product, const LabelOptions& options, Labelled& labelled) {
  if (options.mig_strategy == MigStrategy::kMixed) {
    for (const auto& [resource, profile] : ProfilesOf(facts)) {
      AddProfile(resource + ".", profile, TallyOf(offered, resource, IsMig), options.sharing,
                 labelled.labels);
    }
  } else if (std::ranges::any_of(facts.gpus, InMigMode)) {
    AddSingle(facts, offered, product, options.sharing, labelled);
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
