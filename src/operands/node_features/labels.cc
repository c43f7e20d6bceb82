// SPDX-License-Identifier: Apache-2.0
// Which labels does a node get for its hardware, kernel and system? Keys and values are node
// feature discovery's (its pci, kernel, system, cpu and local sources). A label that Kubernetes
// would refuse is left out alone; the others must not suffer from it.
#include "operands/node_features/labels.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "base/text.h"
#include "policy/names.h"

namespace gantry::node_features {
namespace {

constexpr size_t kLongestName = 63;
constexpr size_t kLongestPrefix = 253;

bool IsAlphanumeric(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

// A label value, or the name part of a label key.
bool IsLabelText(std::string_view text) {
  return text.size() <= kLongestName && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, [](char letter) {
           return IsAlphanumeric(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

bool IsLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  const std::string_view prefix = slash == std::string_view::npos ? "" : key.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  static const std::regex subdomain(
      "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  return !name.empty() && IsLabelText(name) &&
         (slash == std::string_view::npos ||
          (prefix.size() <= kLongestPrefix &&
           std::regex_match(prefix.begin(), prefix.end(), subdomain)));
}

// Collects labels, prefixing bare names.
class Collector {
 public:
  explicit Collector(Labelled& into) : into_(into) {}

  void Add(const std::string& name, const std::string& value) {
    const std::string key =
        name.find('/') == std::string::npos ? format("{}{}", names::kFeaturePrefix, name) : name;
    if (!IsLabelKey(key) || (!value.empty() && !IsLabelText(value))) {
      into_.warnings.push_back(
          format("label {}={} is left out: Kubernetes does not allow it", key, value));
      return;
    }
    into_.labels[key] = value;
  }

 private:
  Labelled& into_;
};

std::string PciName(const host::PciFunction& function, const std::vector<std::string>& fields) {
  std::vector<std::string> parts;
  const std::pair<const char*, std::string> known[] = {
      {"class", format("{:04x}", function.class_code >> 8)},
      {"vendor", format("{:04x}", function.vendor)},
      {"device", format("{:04x}", function.device)}};
  for (const auto& [field, text] : known) {
    if (std::ranges::find(fields, field) != fields.end()) {
      parts.push_back(text);
    }
  }
  return Join(parts, "_");
}

void AddPci(const Facts& facts, const LabelOptions& options, Collector& labels) {
  for (const PciDevice& device : facts.pci) {
    const std::string pci_class = format("{:04x}", device.function.class_code >> 8);
    const bool wanted = std::ranges::any_of(options.pci_classes, [&](const std::string& start) {
      return pci_class.starts_with(Lower(start));
    });
    if (!wanted) {
      continue;
    }
    const std::string name = PciName(device.function, options.pci_fields);
    labels.Add(format("pci-{}.present", name), "true");
    if (device.sriov_capable) {
      labels.Add(format("pci-{}.sriov.capable", name), "true");
    }
  }
}

// The numbers of "<major>.<minor>.<revision>..." as far as there are any.
std::vector<std::string> Numbers(const std::string& text, const char* tail) {
  std::smatch match;
  if (!std::regex_match(text, match,
                        std::regex(format(R"((\d+)(?:\.(\d+))?(?:\.(\d+))?{})", tail)))) {
    return {};
  }
  std::vector<std::string> numbers;
  for (size_t i = 1; i < match.size() && match[i].matched; ++i) {
    numbers.push_back(match[i].str());
  }
  return numbers;
}

void AddKernel(const Facts& facts, Collector& labels) {
  const std::string release(Trim(facts.kernel_release));
  if (release.empty()) {
    return;
  }
  std::string full = release;
  std::ranges::replace_if(
      full,
      [](char letter) {
        return !IsAlphanumeric(letter) && letter != '-' && letter != '_' && letter != '.';
      },
      '_');
  const auto trimmed = [](char letter) { return !IsAlphanumeric(letter); };
  while (!full.empty() && trimmed(full.back())) {
    full.pop_back();
  }
  labels.Add("kernel-version.full", full);
  static constexpr std::array<const char*, 3> kParts = {"major", "minor", "revision"};
  const std::vector<std::string> numbers = Numbers(release, "(?:[-+~_.].*)?");
  for (size_t i = 0; i < numbers.size(); ++i) {
    labels.Add(format("kernel-version.{}", kParts[i]), numbers[i]);
  }
}

// NAME=value lines, values with or without quotes.
LabelMap ParseOsRelease(const std::string& text) {
  LabelMap values;
  for (const std::string& line : Split(text, '\n')) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || line.starts_with('#')) {
      continue;
    }
    std::string_view value = Trim(std::string_view(line).substr(equals + 1));
    if (value.size() >= 2 && value.front() == value.back() &&
        (value.front() == '"' || value.front() == '\'')) {
      value = value.substr(1, value.size() - 2);
    }
    values[std::string(Trim(std::string_view(line).substr(0, equals)))] = std::string(value);
  }
  return values;
}

void AddSystem(const Facts& facts, Collector& labels) {
  const LabelMap values = ParseOsRelease(facts.os_release);
  for (const char* name : {"ID", "VERSION_ID", "OSTREE_VERSION"}) {
    if (const auto found = values.find(name); found != values.end() && !found->second.empty()) {
      labels.Add(format("system-os_release.{}", name), found->second);
    }
  }
  if (const auto version = values.find("VERSION_ID"); version != values.end()) {
    const std::vector<std::string> numbers = Numbers(version->second, "(?:\\..*)?");
    if (!numbers.empty()) {
      labels.Add("system-os_release.VERSION_ID.major", numbers[0]);
    }
    if (numbers.size() > 1) {
      labels.Add("system-os_release.VERSION_ID.minor", numbers[1]);
    }
  }
}

// What NFD calls the makers of processors: the x86 vendor string, or the Arm implementer code.
std::string CpuVendor(const std::string& text) {
  static constexpr std::pair<const char*, const char*> kVendors[] = {
      {"GenuineIntel", "Intel"}, {"AuthenticAMD", "AMD"}, {"HygonGenuine", "Hygon"},
      {"CentaurHauls", "VIA"},   {"0x41", "ARM"},         {"0x42", "Broadcom"},
      {"0x43", "Cavium"},        {"0x46", "Fujitsu"},     {"0x4e", "NVIDIA"},
      {"0x51", "Qualcomm"},      {"0x56", "Marvell"},     {"0xc0", "Ampere"}};
  const auto* known =
      std::ranges::find(kVendors, text, &std::pair<const char*, const char*>::first);
  return known != std::end(kVendors) ? known->second : "VendorUnknown";
}

void AddCpu(const Facts& facts, Collector& labels) {
  LabelMap values;  // of the first processor
  for (const std::string& line : Split(facts.cpuinfo, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) {
      values.emplace(Trim(std::string_view(line).substr(0, colon)),
                     Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  for (const char* name : {"vendor_id", "CPU implementer"}) {
    if (values.contains(name)) {
      labels.Add("cpu-model.vendor_id", CpuVendor(values[name]));
    }
  }
  if (values.contains("cpu family")) {
    labels.Add("cpu-model.family", values["cpu family"]);
  }
  if (values.contains("model")) {
    labels.Add("cpu-model.id", values["model"]);
  }
}

}  // namespace

Labelled NodeLabels(const Facts& facts, const LabelOptions& options, WallTime now) {
  Labelled labelled;
  Collector labels(labelled);
  AddPci(facts, options, labels);
  AddKernel(facts, labels);
  AddSystem(facts, labels);
  AddCpu(facts, labels);
  // Last, so that what an administrator wrote wins.
  LocalLabels local = ReadLocalFiles(facts.local_files, now);
  labelled.next_expiry = local.next_expiry;
  labelled.warnings.insert(labelled.warnings.end(), local.warnings.begin(), local.warnings.end());
  for (const auto& [name, value] : local.labels) {
    labels.Add(name, value);
  }
  return labelled;
}

}  // namespace gantry::node_features
