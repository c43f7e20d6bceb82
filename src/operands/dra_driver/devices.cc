// SPDX-License-Identifier: Apache-2.0
// Which devices does a node's list of GPUs give, and what does a ResourceSlice say about each? The
// order is that of the hardware: the scheduler takes the first device that fits.
#include "operands/dra_driver/devices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "gpu/architecture.h"
#include "gpu/products.h"

namespace gantry::dra_driver {
namespace {

constexpr size_t kLongestString = 64;  // of an attribute (resource.k8s.io/v1)

// NVML's brands as NVIDIA's driver publishes them.
std::string_view BrandName(std::string_view brand) {
  constexpr auto kBrands = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"quadro", "Quadro"},
       {"tesla", "Tesla"},
       {"nvs", "NVS"},
       {"grid", "Grid"},
       {"geforce", "Geforce"},
       {"titan", "Titan"},
       {"nvidia-vapps", "NvidiaVApps"},
       {"nvidia-vpc", "NvidiaVPC"},
       {"nvidia-vcs", "NvidiaVCS"},
       {"nvidia-vws", "NvidiaVWS"},
       {"nvidia-cloud-gaming", "NvidiaCloudGaming"},
       {"quadro-rtx", "QuadroRTX"},
       {"nvidia-rtx", "NvidiaRTX"},
       {"nvidia", "Nvidia"},
       {"geforce-rtx", "GeforceRTX"},
       {"titan-rtx", "TitanRTX"}});
  const auto* found = std::ranges::find(kBrands, brand, [](const auto& one) { return one.first; });
  return found == kBrands.end() ? "Unknown" : found->second;
}

// An attribute without a value is left out.
void Add(Json& attributes, const char* name, const char* type, std::string_view value) {
  if (!value.empty()) {
    attributes[name] = {{type, Cut(value, kLongestString)}};
  }
}

void AddCapacity(Json& capacity, const char* name, const std::string& quantity) {
  capacity[name] = {{"value", quantity}};
}

// What a GPU and its MIG devices have in common.
Json CommonAttributes(const gpu::GpuSet& set, const gpu::Gpu& gpu, std::string_view pcie_root) {
  Json attributes = Json::object();
  const std::string_view architecture = gpu::Architecture(gpu.compute_major, gpu.compute_minor);
  Add(attributes, "productName", "string", gpu.name);
  Add(attributes, "brand", "string", BrandName(gpu.brand));
  Add(attributes, "architecture", "string", architecture.empty() ? "Unknown" : architecture);
  Add(attributes, "cudaComputeCapability", "version",
      SemanticVersion(format("{}.{}", gpu.compute_major, gpu.compute_minor)));
  Add(attributes, "driverVersion", "version", SemanticVersion(set.driver_version));
  Add(attributes, "cudaDriverVersion", "version", SemanticVersion(set.cuda_version));
  Add(attributes, "addressingMode", "string", gpu.addressing_mode);
  Add(attributes, "resource.kubernetes.io/pciBusID", "string", Lower(gpu.pci_bus_id));
  Add(attributes, "resource.kubernetes.io/pcieRoot", "string", pcie_root);
  if (gpu.numa_node >= 0) {
    attributes["resource.kubernetes.io/numaNode"] = {{"int", gpu.numa_node}};
  }
  return attributes;
}

Device FullGpu(const gpu::Gpu& gpu, size_t at, Json attributes) {
  Device device{.name = format("gpu-{}", gpu.minor),
                .type = DeviceType::kGpu,
                .uuid = gpu.uuid,
                .gpu_at = at};
  Add(attributes, "type", "string", "gpu");
  Add(attributes, "uuid", "string", gpu.uuid);
  Json capacity = Json::object();
  if (gpu.memory_bytes > 0) {
    AddCapacity(capacity, "memory", Quantity(gpu.memory_bytes));
  }
  device.published = {{"name", device.name},
                      {"attributes", std::move(attributes)},
                      {"capacity", std::move(capacity)}};
  return device;
}

// "1g.10gb+me" -> "1g10gb-me".
std::string InName(std::string profile) {
  std::erase(profile, '.');
  std::ranges::replace(profile, '+', '-');
  return profile;
}

Device MigDevice(const gpu::Gpu& gpu, size_t at, size_t mig_at, const nvml::MigPlace& place,
                 Json attributes) {
  const nvml::MigDevice& mig = gpu.mig_devices[mig_at];
  const nvml::MigAttributes& has = mig.attributes;
  Device device{.name = format("gpu-{}-mig-{}-{}-{}", gpu.minor, InName(mig.profile),
                               place.profile_id, place.start),
                .type = DeviceType::kMig,
                .uuid = mig.uuid,
                .gpu_at = at,
                .mig_at = mig_at};
  Add(attributes, "type", "string", "mig");
  Add(attributes, "uuid", "string", mig.uuid);
  Add(attributes, "parentUUID", "string", gpu.uuid);
  Add(attributes, "profile", "string", mig.profile);
  Json capacity = Json::object();
  AddCapacity(capacity, "memory", Quantity(has.memory_mib << 20U));
  AddCapacity(capacity, "multiprocessors", std::to_string(has.multiprocessors));
  AddCapacity(capacity, "copyEngines", std::to_string(has.copy_engines));
  AddCapacity(capacity, "decoders", std::to_string(has.decoders));
  AddCapacity(capacity, "encoders", std::to_string(has.encoders));
  AddCapacity(capacity, "jpegEngines", std::to_string(has.jpeg_engines));
  AddCapacity(capacity, "ofaEngines", std::to_string(has.ofa_engines));
  for (unsigned slice = place.start; slice < place.start + place.size; ++slice) {
    AddCapacity(capacity, format("memorySlice{}", slice).c_str(), "1");
  }
  device.published = {{"name", device.name},
                      {"attributes", std::move(attributes)},
                      {"capacity", std::move(capacity)}};
  return device;
}

// Why a MIG device is not offered; empty: it is.
std::string Objection(const nvml::MigDevice& mig) {
  if (!mig.place.has_value()) {
    return "its place can't be read: the driver needs root and /dev/nvidia-caps";
  }
  // Several would have one name, and one GPU instance several owners.
  if (mig.attributes.compute_slices != mig.attributes.gpu_slices) {
    return "its compute instance is only a part of its GPU instance";
  }
  return "";
}

// "gpu-3-mig-..." -> "gpu-3".
std::string_view GpuOf(std::string_view name) {
  return name.substr(0, std::min(name.find("-mig-"), name.size()));
}

}  // namespace

const Device* Devices::Find(std::string_view name) const {
  const auto found = std::ranges::find(devices, name, &Device::name);
  return found == devices.end() ? nullptr : &*found;
}

Devices DevicesOf(const gpu::GpuSet& set, const std::map<std::string, std::string>& pcie_roots) {
  Devices result;
  std::vector<size_t> order;
  order.reserve(set.gpus.size());
  for (size_t at = 0; at < set.gpus.size(); ++at) {
    order.push_back(at);
  }
  std::ranges::sort(order, {}, [&set](size_t at) { return set.gpus[at].minor; });
  for (const size_t at : order) {
    const gpu::Gpu& gpu = set.gpus[at];
    if (!gpu::IsForContainers(gpu.name)) {
      result.left_out.push_back(format("GPU {}: {} is for displays", gpu.index, gpu.name));
      continue;
    }
    const auto root = pcie_roots.find(gpu.pci_bus_id);
    const Json common =
        CommonAttributes(set, gpu, root == pcie_roots.end() ? "" : std::string_view(root->second));
    if (!gpu.mig_enabled) {
      result.devices.push_back(FullGpu(gpu, at, common));
      continue;
    }
    if (gpu.mig_devices.empty()) {
      result.left_out.push_back(
          format("GPU {}: it is in MIG mode and has no MIG device", gpu.index));
    }
    std::vector<std::pair<nvml::MigPlace, size_t>> placed;
    placed.reserve(gpu.mig_devices.size());
    for (size_t mig_at = 0; mig_at < gpu.mig_devices.size(); ++mig_at) {
      const nvml::MigDevice& mig = gpu.mig_devices[mig_at];
      if (std::string why = Objection(mig); !why.empty()) {
        result.left_out.push_back(format("MIG device {}: {}", mig.uuid, why));
      } else {
        placed.emplace_back(mig.place.value_or(nvml::MigPlace{}), mig_at);
      }
    }
    std::ranges::sort(placed, {}, [](const auto& one) {
      return std::tuple(one.first.profile_id, one.first.start);
    });
    for (const auto& [place, mig_at] : placed) {
      result.devices.push_back(MigDevice(gpu, at, mig_at, place, common));
    }
  }
  return result;
}

bool Overlap(std::string_view one, std::string_view other) {
  const std::string_view gpu = GpuOf(one);
  return one == other || (gpu == GpuOf(other) && (one == gpu || other == gpu));
}

std::string SemanticVersion(std::string_view version) {
  std::vector<std::string> numbers;
  for (const std::string& part : Split(version, '.')) {
    unsigned long number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size()) {
      return "";
    }
    numbers.push_back(std::to_string(number));
  }
  if (numbers.empty()) {
    return "";
  }
  numbers.resize(3, "0");
  return Join(numbers, ".");
}

std::string Quantity(uint64_t bytes) {
  constexpr std::array kUnits = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return format("{}{}", bytes, kUnits[unit]);
}

}  // namespace gantry::dra_driver
