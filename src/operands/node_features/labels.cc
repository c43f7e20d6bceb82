// SPDX-License-Identifier: Apache-2.0
// Which labels does a node get for its hardware, kernel and system? Keys and values are node
// feature discovery's. A label that Kubernetes would reject is left out, without affecting the
// others.
#include "operands/node_features/labels.h"

#include <re2/re2.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>

#include "base/text.h"
#include "nfd/evaluate.h"
#include "nfd/label_policy.h"
#include "operands/node_features/custom_rules.h"
#include "operands/node_features/raw_features.h"
#include "policy/feature_labels.h"

namespace gantry::node_features {
namespace {

using nfd::Features;

// Collects labels, prefixing bare names.
class Collector {
 public:
  Collector(const LabelOptions& options, Labelled& into) : options_(options), into_(into) {}

  void Add(const std::string& name, const std::string& value) {
    const std::string key = nfd::WithPrefix(name);
    if (!nfd::IsLabelKey(key) || !nfd::IsLabelValue(value)) {
      into_.warnings.push_back(
          format("label {}={} is left out: Kubernetes does not allow it", key, value));
    } else if (options_.white_list == nullptr ||
               RE2::PartialMatch(key.substr(key.find('/') + 1), *options_.white_list)) {
      into_.labels.insert_or_assign(key, value);
    }
  }

 private:
  const LabelOptions& options_;
  Labelled& into_;
};

bool IsOneOf(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

constexpr char kFake[] = "fake";

// "all", a name, or "-name", which removes one.
bool Enabled(const std::vector<std::string>& sources, const std::string& name) {
  const bool by_all = IsOneOf(sources, "all") && name != kFake;
  return !IsOneOf(sources, "-" + name) && (by_all || IsOneOf(sources, name));
}

const Elements& AttributesOf(const Features& features, const char* name) {
  static const Elements kNone;
  const auto found = features.attributes.find(name);
  return found == features.attributes.end() ? kNone : found->second;
}

// "<class>_<vendor>" of the requested fields, in NFD's order; `known` are the valid ones. As in
// NFD, a missing field of a device is empty, and `otherwise` counts if no field is valid.
std::string DeviceName(const Elements& device, const std::vector<std::string>& fields,
                       std::span<const char* const> known,
                       const std::vector<std::string>& otherwise) {
  const bool asked =
      std::ranges::any_of(known, [&](const char* field) { return IsOneOf(fields, field); });
  std::vector<std::string> parts;
  for (const char* field : known) {
    if (IsOneOf(asked ? fields : otherwise, field)) {
      const auto found = device.find(field);
      parts.push_back(found == device.end() ? "" : found->second);
    }
  }
  return Join(parts, "_");
}

bool HasClass(const Elements& device, const std::vector<std::string>& beginnings) {
  const auto found = device.find("class");
  return found != device.end() &&
         std::ranges::any_of(beginnings, [&](const std::string& beginning) {
           return found->second.starts_with(Lower(beginning));
         });
}

void AddPci(const Facts& facts, const Features& features, const LabelOptions& options,
            Collector& labels) {
  static constexpr const char* kFields[] = {"class", "vendor", "device", "subsystem_vendor",
                                            "subsystem_device"};
  const auto& devices = features.instances.at("pci.device");
  for (size_t i = 0; i < devices.size(); ++i) {
    if (HasClass(devices[i], options.pci_classes)) {
      const std::string name =
          DeviceName(devices[i], options.pci_fields, kFields, {"class", "vendor"});
      labels.Add(format("pci-{}.present", name), "true");
      if (facts.pci[i].sriov_capable) {
        labels.Add(format("pci-{}.sriov.capable", name), "true");
      }
    }
  }
}

void AddUsb(const Facts& facts, const LabelOptions& options, Collector& labels) {
  static constexpr const char* kFields[] = {"class", "vendor", "device", "serial"};
  for (const Elements& device : facts.usb_devices) {
    if (HasClass(device, options.usb_classes)) {
      const std::string name =
          DeviceName(device, options.usb_fields, kFields, {"class", "vendor", "device"});
      labels.Add(format("usb-{}.present", name), "true");
    }
  }
}

void AddKernel(const Facts& facts, const Features& features, const LabelOptions& options,
               Collector& labels) {
  for (const auto& [name, value] : AttributesOf(features, "kernel.version")) {
    labels.Add("kernel-version." + name, value);
  }
  const Elements config = facts.kernel_config.value_or(Elements());
  for (const std::string& option : options.kernel_options) {
    const auto found = config.find(option);
    if (found != config.end()) {
      const bool on = found->second == "y" || found->second == "m";
      labels.Add("kernel-config." + option, on ? "true" : found->second);
    }
  }
  if (AttributesOf(features, "kernel.selinux").at("enabled") == "true") {
    labels.Add("kernel-selinux.enabled", "true");
  }
}

void AddSystem(const Features& features, Collector& labels) {
  const Elements& release = AttributesOf(features, "system.osrelease");
  for (const char* name :
       {"ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor", "OSTREE_VERSION"}) {
    if (const auto found = release.find(name); found != release.end() && !found->second.empty()) {
      labels.Add(format("system-os_release.{}", name), found->second);
    }
  }
}

void AddCpu(const Features& features, const LabelOptions& options, Collector& labels) {
  for (const std::string& flag : features.flags.at("cpu.cpuid")) {
    const bool wanted = options.cpuid_allow.empty() ? !IsOneOf(options.cpuid_deny, flag)
                                                    : IsOneOf(options.cpuid_allow, flag);
    if (wanted) {
      labels.Add("cpu-cpuid." + flag, "true");
    }
  }
  const auto add_all = [&](const char* feature, const std::string& prefix) {
    for (const auto& [name, value] : AttributesOf(features, feature)) {
      labels.Add(prefix + name, value);
    }
  };
  add_all("cpu.cpuid", "cpu-cpuid.");
  add_all("cpu.model", "cpu-model.");
  labels.Add("cpu-hardware_multithreading",
             AttributesOf(features, "cpu.topology").at("hardware_multithreading"));
  add_all("cpu.cstate", "cpu-cstate.");
  add_all("cpu.pstate", "cpu-pstate.");
  add_all("cpu.sst", "cpu-power.sst_");
  add_all("cpu.coprocessor", "cpu-coprocessor.");
  static const std::vector<std::string> kNumbers = {"tdx.total_keys", "sgx.epc", "sev.asids",
                                                    "sev.encrypted_state_ids"};
  for (const auto& [name, value] : AttributesOf(features, "cpu.security")) {
    if (!IsOneOf(kNumbers, name)) {
      labels.Add("cpu-security." + name, value);
    }
  }
}

void AddMemory(const Facts& facts, const Features& features, Collector& labels) {
  if (facts.numa_nodes > 1) {
    labels.Add("memory-numa", "true");
  }
  if (const auto& swap = AttributesOf(features, "memory.swap");
      swap.contains("enabled") && swap.at("enabled") == "true") {
    labels.Add("memory-swap", "true");
  }
  if (!facts.nvdimms.empty()) {
    labels.Add("memory-nv.present", "true");
  }
  const bool dax = std::ranges::any_of(facts.nvdimms, [](const Elements& device) {
    const auto type = device.find("devtype");
    return type != device.end() && type->second == "nd_dax";
  });
  if (dax) {
    labels.Add("memory-nv.dax", "true");
  }
}

// Whether one of the devices has a number above 0 for that attribute.
bool AnyNonZero(const std::vector<Elements>& devices, const char* name) {
  return std::ranges::any_of(devices, [&](const Elements& device) {
    const auto found = device.find(name);
    return found != device.end() && ParseInt(found->second).value_or(0) > 0;
  });
}

void AddStorageAndNetwork(const Facts& facts, bool storage, bool network, Collector& labels) {
  const bool solid = std::ranges::any_of(facts.block_devices, [](const Elements& device) {
    const auto rotational = device.find("rotational");
    return rotational != device.end() && rotational->second == "0";
  });
  if (storage && solid) {
    labels.Add("storage-nonrotationaldisk", "true");
  }
  if (network && AnyNonZero(facts.network_devices, "sriov_totalvfs")) {
    labels.Add("network-sriov.capable", "true");
  }
  if (network && AnyNonZero(facts.network_devices, "sriov_numvfs")) {
    labels.Add("network-sriov.configured", "true");
  }
}

// NFD's own rules of the source "custom", those of the configuration, and those of custom.d.
void AddCustom(const Facts& facts, const Features& features, const LabelOptions& options,
               Labelled& labelled, Collector& labels) {
  const auto modules = features.flags.contains("kernel.loadedmodule")
                           ? features.flags.at("kernel.loadedmodule")
                           : std::set<std::string, std::less<>>();
  const auto& devices = features.instances.at("pci.device");
  const bool rdma = std::ranges::any_of(
      devices, [](const Elements& device) { return device.at("vendor") == "15b3"; });
  if (rdma) {
    labels.Add("rdma.capable", "true");
  }
  if (modules.contains("ib_uverbs") && modules.contains("rdma_ucm")) {
    labels.Add("rdma.available", "true");
  }
  CustomRules custom = ReadCustomFiles(facts.custom_files);
  std::ranges::move(custom.warnings, std::back_inserter(labelled.warnings));
  std::vector<nfd::Rule> rules = options.rules;
  std::ranges::move(custom.rules, std::back_inserter(rules));
  const nfd::Outputs outputs = nfd::Evaluate({{"custom", std::move(rules)}}, features);
  for (const auto& [name, value] : outputs.labels) {
    labels.Add(name, value);
  }
  for (const nfd::RuleMistake& mistake : outputs.mistakes) {
    labelled.warnings.push_back(format("custom rule {}: {}", mistake.rule, mistake.reason));
  }
}

// Removes disabled sources and features.
Features Published(const Features& all, const LabelOptions& options) {
  const auto wanted = [&](const std::string& feature) {
    return Enabled(options.feature_sources, feature.substr(0, feature.find('.'))) &&
           std::ranges::none_of(options.unpublished, [&](const std::string& pattern) {
             return pattern.ends_with('*')
                        ? feature.starts_with(pattern.substr(0, pattern.size() - 1))
                        : feature == pattern;
           });
  };
  Features published;
  const auto copy = [&](const auto& from, auto& into) {
    std::ranges::copy_if(from, std::inserter(into, into.end()),
                         [&](const auto& entry) { return wanted(entry.first); });
  };
  copy(all.flags, published.flags);
  copy(all.attributes, published.attributes);
  copy(all.instances, published.instances);
  return published;
}

void AddSources(const Facts& facts, const Features& features, const LabelOptions& options,
                Collector& labels) {
  const auto enabled = [&](const char* source) { return Enabled(options.label_sources, source); };
  if (enabled("pci")) {
    AddPci(facts, features, options, labels);
  }
  if (enabled("usb")) {
    AddUsb(facts, options, labels);
  }
  if (enabled("kernel")) {
    AddKernel(facts, features, options, labels);
  }
  if (enabled("system")) {
    AddSystem(features, labels);
  }
  if (enabled("cpu")) {
    AddCpu(features, options, labels);
  }
  if (enabled("memory")) {
    AddMemory(facts, features, labels);
  }
  AddStorageAndNetwork(facts, enabled("storage"), enabled("network"), labels);
  if (enabled(kFake)) {
    for (const auto& [name, value] : options.fake.labels) {
      labels.Add(name.find('/') == std::string::npos ? format("fake-{}", name) : name, value);
    }
  }
}

// A GPU, and the facts that select its driver, always get labels in NVIDIA's form too, because the
// operator uses them.
void AddNeeded(const Facts& facts, const Features& features, LabelMap& labels) {
  if (std::ranges::none_of(facts.pci, host::IsNvidiaGpu, &PciDevice::function)) {
    return;
  }
  const LabelOptions standard;
  Labelled all;
  Collector collector(standard, all);
  AddPci(facts, features, standard, collector);
  AddKernel(facts, features, standard, collector);
  AddSystem(features, collector);
  for (const auto& [key, value] : all.labels) {
    if (policy::DecidesOperands(key)) {
      labels.try_emplace(key, value);
    }
  }
}

}  // namespace

Labelled NodeLabels(const Facts& facts, const LabelOptions& options, WallTime now) {
  Labelled labelled;
  labelled.warnings = facts.warnings;
  Collector labels(options, labelled);
  LocalFeatures local = ReadLocalFiles(facts.local_files, now);
  Features features = RawFeatures(facts);
  features.attributes["local.label"] = Elements(local.labels.begin(), local.labels.end());
  features.attributes["local.feature"] = std::move(local.features);
  if (Enabled(options.feature_sources, kFake)) {
    features.flags["fake.flag"] = {options.fake.flags.begin(), options.fake.flags.end()};
    features.attributes["fake.attribute"] = options.fake.attributes;
    features.instances["fake.instance"] = options.fake.instances;
  }
  AddSources(facts, features, options, labels);
  if (Enabled(options.label_sources, "custom")) {
    AddCustom(facts, features, options, labelled, labels);
  }
  // Last, so that the administrator's labels win.
  labelled.next_expiry = local.next_expiry;
  labelled.warnings.insert(labelled.warnings.end(), local.warnings.begin(), local.warnings.end());
  if (Enabled(options.label_sources, "local")) {
    for (const auto& [name, value] : local.labels) {
      labels.Add(name, value);
    }
  }
  AddNeeded(facts, features, labelled.labels);
  labelled.features = Published(features, options);
  return labelled;
}

}  // namespace gantry::node_features
