// SPDX-License-Identifier: Apache-2.0
// Which features does a node have, under the names that NodeFeatureRules use? Names and values are
// those of NFD's sources. As in NFD, a readable feature exists, perhaps empty, and an unreadable
// one is absent: rules distinguish "no such element" (DoesNotExist matches) from "no such feature"
// (nothing matches).
#include "operands/node_features/raw_features.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <utility>

#include "base/text.h"
#include "operands/node_features/cpu_flags.h"

namespace gantry::node_features {
namespace {

using nfd::Features;

bool IsPlain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_' ||
         letter == '.';
}

const std::string* FileOf(const Facts& facts, std::string_view path) {
  const auto found = facts.files.find(path);
  return found == facts.files.end() ? nullptr : &found->second;
}

bool IsOn(const Facts& facts, std::string_view path) {
  const std::string* text = FileOf(facts, path);
  return text != nullptr && (*text == "1" || *text == "Y" || *text == "y");
}

// As NFD: without /proc/modules there is no kernel.loadedmodule, without modules.builtin no
// kernel.enabledmodule. Files' names stay as they are.
void AddModules(const Facts& facts, Features& features) {
  std::set<std::string, std::less<>> modules;
  for (const std::string& line : Split(facts.modules.value_or(""), '\n')) {
    if (!line.empty()) {
      modules.insert(line.substr(0, line.find(' ')));
    }
  }
  if (facts.modules.has_value()) {
    features.flags["kernel.loadedmodule"] = modules;
  }
  static constexpr std::string_view kSuffix = ".ko";
  for (const std::string& raw : Split(facts.builtin.value_or(""), '\n')) {
    std::string_view line = Trim(raw);
    if (line.ends_with(kSuffix)) {
      line.remove_suffix(kSuffix.size());
      modules.emplace(line.substr(line.rfind('/') + 1));
    }
  }
  if (facts.builtin.has_value()) {
    features.flags["kernel.enabledmodule"] = std::move(modules);
  }
}

void AddKernel(const Facts& facts, Features& features) {
  Elements version;
  const std::string release(Trim(facts.kernel_release));
  std::string full = release;
  std::ranges::replace_if(full, [](char letter) { return !IsPlain(letter); }, '_');
  while (!full.empty() && std::isalnum(static_cast<unsigned char>(full.back())) == 0) {
    full.pop_back();
  }
  if (!full.empty()) {
    version["full"] = full;
  }
  static constexpr std::array<const char*, 3> kParts = {"major", "minor", "revision"};
  const std::vector<std::string> numbers = VersionNumbers(release, "(?:[-+~_.].*)?");
  for (size_t i = 0; i < numbers.size(); ++i) {
    version[kParts[i]] = numbers[i];
  }
  if (!version.empty()) {
    features.attributes["kernel.version"] = std::move(version);
  }
  if (facts.kernel_config.has_value()) {
    features.attributes["kernel.config"] = *facts.kernel_config;
  }
  features.attributes["kernel.selinux"]["enabled"] =
      FileOf(facts, "fs/selinux/enforce") != nullptr ? "true" : "false";
  features.attributes["kernel.kvm"]["enabled"] = facts.kvm ? "true" : "false";
  AddModules(facts, features);
}

void AddSystem(const Facts& facts, Features& features) {
  Elements release = ParseOsRelease(facts.os_release);
  if (const auto version = release.find("VERSION_ID"); version != release.end()) {
    const std::vector<std::string> numbers = VersionNumbers(version->second, "(?:\\..*)?");
    if (!numbers.empty()) {
      release["VERSION_ID.major"] = numbers[0];
    }
    if (numbers.size() > 1) {
      release["VERSION_ID.minor"] = numbers[1];
    }
  }
  if (!facts.os_release.empty()) {
    features.attributes["system.osrelease"] = std::move(release);
  }
  features.attributes["system.name"]["nodename"] = facts.node_name;
  static constexpr std::string_view kDmi = "class/dmi/id/";
  Elements dmi;
  for (auto file = facts.files.lower_bound(kDmi);
       file != facts.files.end() && file->first.starts_with(kDmi); ++file) {
    dmi[file->first.substr(kDmi.size())] = file->second;
  }
  if (!dmi.empty()) {  // as NFD, for DoesNotExist
    features.attributes["system.dmiid"] = std::move(dmi);
  }
}

// Under NFD's name, or its own without one.
std::string Hypervisor(const std::string& letters) {
  static constexpr std::pair<std::string_view, const char*> kKnown[] = {
      {"KVMKVMKVM", "kvm"},      {"Linux KVM Hv", "kvm"},    {"TCGTCGTCGTCG", "qemu"},
      {"Microsoft Hv", "msvm"},  {"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xenhvm"},
      {"bhyve bhyve ", "bhyve"}, {"QNXQVMBSQG", "qnx"},      {"ACRNACRNACRN", "acrn"},
      {"SRESRESRESRE", "sre"},   {"Apple VZ", "apple"}};
  const auto* known =
      std::ranges::find(kKnown, letters, &std::pair<std::string_view, const char*>::first);
  if (known != std::end(kKnown)) {
    return known->second;
  }
  std::string clean;
  for (const char letter : letters) {
    if (IsPlain(letter)) {
      clean += letter;
    } else if (!clean.ends_with('_')) {
      clean += '_';
    }
  }
  return clean.empty() ? "unknown" : clean;
}

void AddCpuModel(const Facts& facts, Features& features) {
  Elements values;  // of the first processor
  for (const std::string& line : Split(facts.cpuinfo, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos) {
      values.emplace(Trim(std::string_view(line).substr(0, colon)),
                     Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  Elements& model = features.attributes["cpu.model"];
  for (const char* name : {"vendor_id", "CPU implementer"}) {
    if (values.contains(name)) {
      model["vendor_id"] = CpuVendor(values[name]);
    }
  }
  if (values.contains("cpu family")) {
    model["family"] = values["cpu family"];
  }
  if (values.contains("model")) {
    model["id"] = values["model"];
  }
  model["hypervisor"] =
      features.flags["cpu.cpuid"].contains("HYPERVISOR") ? Hypervisor(facts.hypervisor) : "none";
}

// Identifiers that a kind of confidential machine has, from the misc cgroup's capacity.
std::string MiscCapacity(const Facts& facts, std::string_view resource) {
  const std::string* capacity = FileOf(facts, "fs/cgroup/misc.capacity");
  for (const std::string& line : Split(capacity == nullptr ? "" : *capacity, '\n')) {
    if (line.starts_with(resource) && line.size() > resource.size() &&
        line[resource.size()] == ' ') {
      return line.substr(resource.size() + 1);
    }
  }
  return "";
}

void AddSecurity(const Facts& facts, Features& features) {
  Elements& security = features.attributes["cpu.security"];
  const auto add_capacity = [&](const char* name, const char* resource) {
    if (const std::string capacity = MiscCapacity(facts, resource); !capacity.empty()) {
      security[name] = capacity;
    }
  };
  const auto& flags = features.flags["cpu.cpuid"];
  if (const uint64_t bytes = EpcBytes(facts.sgx); bytes > 0) {
    security["sgx.enabled"] = "true";
    security["sgx.epc"] = format("{}", bytes);
  }
  if (IsOn(facts, "module/kvm_intel/parameters/tdx")) {
    security["tdx.enabled"] = "true";
    add_capacity("tdx.total_keys", "tdx");
  }
  if (flags.contains("TDX_GUEST")) {
    security["tdx.protected"] = "true";
  }
  if (IsOn(facts, "module/kvm_amd/parameters/sev")) {
    security["sev.enabled"] = "true";
    add_capacity("sev.asids", "sev");
  }
  if (IsOn(facts, "module/kvm_amd/parameters/sev_es")) {
    security["sev.es.enabled"] = "true";
    add_capacity("sev.encrypted_state_ids", "sev_es");
  }
  if (IsOn(facts, "module/kvm_amd/parameters/sev_snp")) {
    security["sev.snp.enabled"] = "true";
  }
}

void AddCpu(const Facts& facts, Features& features) {
  features.flags["cpu.cpuid"] =
      facts.leaves.registers.empty() ? CpuFlags(facts.cpuinfo) : CpuFlags(facts.leaves);
  if (const unsigned version = Avx10Version(facts.leaves); version > 0) {
    features.attributes["cpu.cpuid"]["AVX10_VERSION"] = format("{}", version);
  }
  AddCpuModel(facts, features);
  Elements& topology = features.attributes["cpu.topology"];
  topology["hardware_multithreading"] = facts.multithreading ? "true" : "false";
  if (!facts.packages.empty()) {
    topology["socket_count"] = format("{}", facts.packages.size());
  }
  Elements& resources = features.attributes["cpu.rdt"];
  for (const std::string& name : ResourceFeatures(facts.resources)) {
    resources[name] = "true";
  }
  Elements& cstate = features.attributes["cpu.cstate"];
  const std::string* driver = FileOf(facts, "devices/system/cpu/cpuidle/current_driver");
  const std::string* deepest = FileOf(facts, "module/intel_idle/parameters/max_cstate");
  if (driver != nullptr && *driver == "intel_idle" && deepest != nullptr) {
    cstate["enabled"] = *deepest == "0" ? "false" : "true";
  }
  Elements& pstate = features.attributes["cpu.pstate"];
  const std::string* status = FileOf(facts, "devices/system/cpu/intel_pstate/status");
  if (status != nullptr && *status != "off") {
    pstate["status"] = *status;
    if (const auto* off = FileOf(facts, "devices/system/cpu/intel_pstate/no_turbo")) {
      pstate["turbo"] = *off == "0" ? "true" : "false";
    }
    if (*status == "active" && facts.governors.size() == 1) {
      pstate["scaling_governor"] = *facts.governors.begin();
    }
  }
  Elements& speed_select = features.attributes["cpu.sst"];
  if (RaisesBaseFrequency(facts.frequencies, facts.base_frequencies)) {
    speed_select["bf.enabled"] = "true";
  }
  AddSecurity(facts, features);
  Elements& coprocessor = features.attributes["cpu.coprocessor"];
  if (FileOf(facts, "devices/vio/ibm,compression-v1/nx_gzip_caps/min_compress_len") != nullptr) {
    coprocessor["nx_gzip"] = "true";
  }
}

// "hugepages-2048kB" -> "hugepages-2Mi", as Kubernetes names the resource; nothing for another
// name.
std::optional<std::string> HugePageResource(std::string_view folder) {
  static constexpr std::string_view kPrefix = "hugepages-";
  static constexpr std::string_view kUnit = "kB";
  if (!folder.starts_with(kPrefix) || !folder.ends_with(kUnit)) {
    return std::nullopt;
  }
  folder.remove_suffix(kUnit.size());
  long long size = ParseInt(folder.substr(kPrefix.size())).value_or(0);
  if (size <= 0) {
    return std::nullopt;
  }
  static constexpr std::string_view kUnits = "KMGTPE";
  size_t unit = 0;
  while (size % 1024 == 0 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return format("{}{}{}i", kPrefix, size, kUnits[unit]);
}

void AddHugePages(const Facts& facts, Features& features) {
  Elements& pages = features.attributes["memory.hugepages"];
  pages["enabled"] = "false";
  for (const auto& [folder, count] : facts.huge_pages) {
    if (const auto resource = HugePageResource(folder); resource.has_value()) {
      pages[*resource] = count;
      if (ParseInt(count).value_or(0) > 0) {
        pages["enabled"] = "true";
      }
    }
  }
}

void AddMemory(const Facts& facts, Features& features) {
  if (facts.numa_nodes > 0) {
    Elements& numa = features.attributes["memory.numa"];
    numa["is_numa"] = facts.numa_nodes > 1 ? "true" : "false";
    numa["node_count"] = format("{}", facts.numa_nodes);
  }
  // The first line of /proc/swaps is a heading.
  if (const std::string_view swaps = Trim(facts.swaps); !swaps.empty()) {
    features.attributes["memory.swap"]["enabled"] =
        swaps.find('\n') != std::string_view::npos ? "true" : "false";
  }
  features.instances["memory.nv"] = facts.nvdimms;
  AddHugePages(facts, features);
}

void AddPci(const Facts& facts, Features& features) {
  auto& devices = features.instances["pci.device"];
  for (const PciDevice& device : facts.pci) {
    Elements attributes = device.more;
    attributes["class"] = format("{:04x}", device.function.class_code >> 8);
    attributes["vendor"] = format("{:04x}", device.function.vendor);
    attributes["device"] = format("{:04x}", device.function.device);
    devices.push_back(std::move(attributes));
  }
}

}  // namespace

Features RawFeatures(const Facts& facts) {
  Features features;
  AddKernel(facts, features);
  AddSystem(facts, features);
  AddCpu(facts, features);
  AddMemory(facts, features);
  AddPci(facts, features);
  features.instances["usb.device"] = facts.usb_devices;
  features.instances["storage.block"] = facts.block_devices;
  features.instances["network.device"] = facts.network_devices;
  features.instances["network.virtual"] = facts.virtual_network_devices;
  return features;
}

Elements ParseOsRelease(const std::string& text) {
  Elements values;
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
    values.insert_or_assign(std::string(Trim(std::string_view(line).substr(0, equals))),
                            std::string(value));
  }
  return values;
}

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

std::vector<std::string> VersionNumbers(const std::string& text, const char* tail) {
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

}  // namespace gantry::node_features
