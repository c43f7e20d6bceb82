// SPDX-License-Identifier: Apache-2.0
// Which labels does a node with these GPUs get? Keys and values are GPU feature discovery's,
// because schedulers, node selectors and dashboards rely on them.
#include "operands/gpu_features/labels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "gpu/architecture.h"
#include "gpu/for_containers.h"
#include "gpu/products.h"
#include "operands/gpu_features/resource_labels.h"
#include "policy/names.h"

namespace gantry::gpu_features {
namespace {

using nvml::Device;
using nvml::MigMode;
using policy::MigStrategy;
using policy::SharingStrategy;

constexpr int kVga = 0x030000;
constexpr int k3d = 0x030200;

std::string Part(const std::vector<std::string>& parts, size_t index) {
  return index < parts.size() ? LabelValue(parts[index]) : "";
}

void AddVersions(const Facts& facts, LabelMap& labels) {
  const std::vector<std::string> driver = Split(facts.driver_version, '.');
  labels[names::kCudaDriverMajor] = Part(driver, 0);
  labels[names::kCudaDriverMinor] = Part(driver, 1);
  labels[names::kCudaDriverRev] = Part(driver, 2);
  labels[names::kCudaDriverVersionMajor] = Part(driver, 0);
  labels[names::kCudaDriverVersionMinor] = Part(driver, 1);
  labels[names::kCudaDriverVersionRevision] = Part(driver, 2);
  labels[names::kCudaDriverVersionFull] = LabelValue(facts.driver_version);
  const int major = facts.cuda_version / 1000;
  const int minor = facts.cuda_version % 1000 / 10;
  labels[names::kCudaRuntimeMajor] = format("{}", major);
  labels[names::kCudaRuntimeMinor] = format("{}", minor);
  labels[names::kCudaRuntimeVersionMajor] = format("{}", major);
  labels[names::kCudaRuntimeVersionMinor] = format("{}", minor);
  labels[names::kCudaRuntimeVersionFull] = format("{}.{}", major, minor);
}

// "ada-lovelace".
std::string Family(int major, int minor) {
  std::string family = Lower(gpu::Architecture(major, minor));
  std::ranges::replace(family, ' ', '-');
  return family.empty() ? "undefined" : family;
}

// The GPUs that the product labels describe.
struct Product {
  const Device* first = nullptr;
  int count = 0;
  int in_mig_mode = 0;
  bool only = false;  // the node has no other
};

Product MainProduct(const Facts& facts) {
  std::vector<Product> products;
  for (const Device& gpu : facts.gpus) {
    auto product = std::ranges::find_if(
        products, [&](const Product& known) { return known.first->name == gpu.name; });
    if (product == products.end()) {
      products.push_back({.first = &gpu});
      product = products.end() - 1;
    }
    ++product->count;
    product->in_mig_mode += InMigMode(gpu) ? 1 : 0;
  }
  // The first of the largest: products are in the order of their lowest index.
  Product main = *std::ranges::max_element(products, {}, &Product::count);
  main.only = products.size() == 1;
  return main;
}

void AddProduct(const Facts& facts, const gpu::ForContainers& offered, const LabelOptions& options,
                LabelMap& labels) {
  const Product product = MainProduct(facts);
  const Device& gpu = *product.first;
  const Tally whole = TallyOf(offered, names::kGpuResource, [&](const gpu::Unit& unit) {
    return !unit.is_mig() && facts.gpus[unit.gpu_at].name == gpu.name;
  });
  const int in_mig_mode = options.mig_strategy == MigStrategy::kSingle ? 0 : product.in_mig_mode;
  AddResource({.key = names::kGpuLabelPrefix,
               .product = gpu.name,
               .suffix = "",
               .count = whole.count + in_mig_mode + (product.only ? facts.failed_gpus : 0),
               .replicas = whole.replicas,
               .memory_mib = gpu.memory_bytes / kBytesPerMiB},
              options.sharing, labels);
  if (gpu.compute_major > 0) {
    labels[names::kGpuFamily] = Family(gpu.compute_major, gpu.compute_minor);
    labels[names::kGpuComputeMajor] = format("{}", gpu.compute_major);
    labels[names::kGpuComputeMinor] = format("{}", gpu.compute_minor);
  }
}

std::string Mode(const Facts& facts) {
  std::set<int> classes;
  for (const Device& gpu : facts.gpus) {
    const auto found = facts.pci_classes.find(gpu.pci_bus_id);
    classes.insert(found == facts.pci_classes.end() ? 0 : found->second);
  }
  if (classes == std::set<int>{kVga}) {
    return "graphics";
  }
  return classes == std::set<int>{k3d} ? "compute" : "unknown";
}

void AddClique(const Facts& facts, Labelled& labelled) {
  std::set<std::string> cliques;
  for (const Device& gpu : facts.gpus) {
    if (gpu.fabric.has_value()) {
      cliques.insert(format("{}.{}", gpu.fabric->cluster_uuid, gpu.fabric->clique_id));
    }
  }
  if (cliques.size() == 1) {
    labelled.labels[names::kGpuClique] = LabelValue(*cliques.begin());
  } else if (cliques.size() > 1) {
    labelled.warnings.push_back(
        format("{}: left out, the GPUs are in {} cliques", names::kGpuClique, cliques.size()));
  }
}

void AddMig(const Facts& facts, const gpu::ForContainers& offered, const LabelOptions& options,
            Labelled& labelled) {
  const bool capable = std::ranges::any_of(
      facts.gpus, [](const Device& gpu) { return gpu.mig != MigMode::kUnsupported; });
  const bool enabled = std::ranges::any_of(facts.gpus, InMigMode);
  labelled.labels[names::kMigCapable] = capable ? "true" : "false";
  if (options.mig_strategy != MigStrategy::kNone) {
    labelled.labels[names::kMigStrategy] = policy::Name(options.mig_strategy);
    AddMigDevices(facts, offered, MainProduct(facts).first->name, options, labelled);
  }
  const bool mps = options.sharing.strategy == SharingStrategy::kMps;
  labelled.labels[names::kMpsCapable] = mps && !enabled ? "true" : "false";
  if (mps && enabled) {
    labelled.warnings.push_back(
        format("{}: false, a GPU in MIG mode cannot be shared by MPS", names::kMpsCapable));
  }
}

void AddVgpu(const Facts& facts, LabelMap& labels) {
  if (!facts.config_space_readable) {
    return;
  }
  labels[names::kVgpuPresent] = facts.vgpu.has_value() ? "true" : "false";
  if (facts.vgpu.has_value()) {
    labels[names::kVgpuHostDriver] = LabelValue(facts.vgpu->driver_version);
    labels[names::kVgpuHostDriverBranch] = LabelValue(facts.vgpu->driver_branch);
  }
}

gpu::ForContainers OfferedOf(const Facts& facts, const LabelOptions& options) {
  std::vector<gpu::Gpu> gpus;
  gpus.reserve(facts.gpus.size());
  for (const Device& device : facts.gpus) {
    gpus.push_back(gpu::FromNvml(device));
  }
  return gpu::GpusForContainers(gpus, options.mig_strategy, options.sharing);
}

}  // namespace

Labelled GpuLabels(Facts facts, const LabelOptions& options) {
  std::erase_if(facts.gpus, [](const Device& gpu) { return !gpu::IsForContainers(gpu.name); });
  Labelled labelled;
  if (options.timestamp.has_value()) {
    labelled.labels[names::kGfdTimestamp] = format("{}", *options.timestamp);
  }
  AddVgpu(facts, labelled.labels);
  if (facts.gpus.empty()) {
    return labelled;
  }
  AddVersions(facts, labelled.labels);
  const std::string machine = LabelValue(facts.machine);
  labelled.labels[names::kGpuMachine] = machine.empty() ? "unknown" : machine;
  const gpu::ForContainers offered = OfferedOf(facts, options);
  AddProduct(facts, offered, options, labelled.labels);
  labelled.labels[names::kGpuMode] = Mode(facts);
  AddClique(facts, labelled);
  AddMig(facts, offered, options, labelled);
  return labelled;
}

LabelMap KeepTimestamp(LabelMap labels, const LabelMap& published) {
  const auto old = published.find(names::kGfdTimestamp);
  const auto now = labels.find(names::kGfdTimestamp);
  if (old == published.end() || now == labels.end()) {
    return labels;
  }
  const std::string fresh = std::exchange(now->second, old->second);
  if (labels != published) {
    now->second = fresh;
  }
  return labels;
}

}  // namespace gantry::gpu_features
