// SPDX-License-Identifier: Apache-2.0

// What do labels and raw features of node feature discovery say about GPUs? NVIDIA's chart has
// labels with the vendor alone, NFD's own default is class and vendor, and an administrator may
// choose others: any of these labels shows a GPU. Raw features have every field, whatever the
// labels' form.

#include "policy/feature_labels.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::policy {
namespace {

constexpr std::string_view kNvidia = "10de";
constexpr std::string_view kDisplay = "03";  // PCI base class: 0300 VGA, 0302 3D, 0380 other

// Other vendors of display devices in servers and virtual machines: after a class, such a number is
// a vendor. (ASPEED, AMD, Intel, Matrox, VMware, QEMU, Red Hat, virtio, Cirrus, Microsoft, Amazon,
// Huawei)
constexpr std::array<std::string_view, 12> kOtherVendors = {
    "1a03", "1002", "8086", "102b", "15ad", "1234", "1b36", "1af4", "1013", "1414", "1d0f", "19e5"};

bool IsPciNumber(std::string_view text) {
  return text.size() == 4 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view TextOf(const Json& attributes, const char* name) {
  const Json* value = At(attributes, name);
  return value != nullptr && value->is_string()
             ? std::string_view(value->get_ref<const std::string&>())
             : std::string_view();
}

}  // namespace

PciLabel ReadPciLabel(std::string_view key) {
  static const std::string kPrefix = format("{}pci-", names::kFeaturePrefix);
  constexpr std::string_view kSuffix = ".present";
  if (!key.starts_with(kPrefix) || !key.ends_with(kSuffix) ||
      key.size() < kPrefix.size() + kSuffix.size()) {
    return PciLabel::kNothing;
  }
  key.remove_prefix(kPrefix.size());
  key.remove_suffix(kSuffix.size());
  const std::vector<std::string> numbers = Split(key, '_');
  if (numbers.empty() || !std::ranges::all_of(numbers, IsPciNumber)) {
    return PciLabel::kNothing;
  }
  if (numbers[0] == kNvidia) {
    return PciLabel::kGpu;
  }
  if (!numbers[0].starts_with(kDisplay)) {
    return PciLabel::kNothing;
  }
  if (numbers.size() > 1 && numbers[1] == kNvidia) {
    return PciLabel::kGpu;
  }
  const bool of_others =
      numbers.size() > 1 && std::ranges::find(kOtherVendors, numbers[1]) != kOtherVendors.end();
  return of_others ? PciLabel::kNothing : PciLabel::kUnclear;
}

bool IsSystemLabel(std::string_view key) {
  return key == names::kSystemId || key == names::kSystemVersion || key == names::kSystemMajor ||
         key == names::kKernelVersion || key == names::kRhcosVersion;
}

bool DecidesOperands(std::string_view key) {
  return IsSystemLabel(key) || ReadPciLabel(key) == PciLabel::kGpu;
}

std::optional<bool> HasPciGpu(const Json& spec_features) {
  const Json* devices = At(spec_features, {"instances", "pci.device", "elements"});
  if (devices == nullptr || !devices->is_array() || devices->empty()) {
    return std::nullopt;
  }
  return std::ranges::any_of(*devices, [](const Json& device) {
    const Json* attributes = At(device, "attributes");
    return attributes != nullptr && TextOf(*attributes, "vendor") == kNvidia &&
           TextOf(*attributes, "class").starts_with(kDisplay);
  });
}

}  // namespace gantry::policy
