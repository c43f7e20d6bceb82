// SPDX-License-Identifier: Apache-2.0
// Which hardware and software does this node have? Everything read here is world-readable, so that
// the worker needs no privilege.
#include "operands/node_features/gather.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "base/paths.h"
#include "base/text.h"

namespace gantry::node_features {
namespace {

constexpr long long kLargestLocalFile = 64LL * 1024;     // NFD's own limit
constexpr long long kLargestCustomFile = 1024LL * 1024;  // a ConfigMap's

// Files of one line below /sys.
constexpr const char* kFiles[] = {
    "devices/system/cpu/cpuidle/current_driver",
    "devices/system/cpu/intel_pstate/status",
    "devices/system/cpu/intel_pstate/no_turbo",
    "devices/vio/ibm,compression-v1/nx_gzip_caps/min_compress_len",
    "fs/cgroup/misc.capacity",
    "fs/selinux/enforce",
    "module/intel_idle/parameters/max_cstate",
    "module/kvm_amd/parameters/sev",
    "module/kvm_amd/parameters/sev_es",
    "module/kvm_amd/parameters/sev_snp",
    "module/kvm_intel/parameters/tdx",
};
constexpr const char* kDmi[] = {
    "bios_date",    "bios_vendor",    "bios_version",    "board_asset_tag",
    "board_name",   "board_vendor",   "board_version",   "chassis_asset_tag",
    "chassis_type", "chassis_vendor", "chassis_version", "product_family",
    "product_name", "product_sku",    "product_version", "sys_vendor",
};

Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.has_value() && text.error().kind == ErrorKind::kNotFound) {
    return "";
  }
  return text;
}

Result<std::optional<std::string>> ReadOrNothing(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.has_value() && text.error().kind == ErrorKind::kNotFound) {
    return std::nullopt;
  }
  TRY(text);
  return *std::move(text);
}

// Trimmed; nothing if unreadable, as some sysfs files are for some devices.
std::optional<std::string> ReadSmall(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  return text.has_value() ? std::optional(std::string(Trim(*text))) : std::nullopt;
}

std::vector<std::string> NamesIn(const std::string& directory) {
  return ListDirectory(directory).value_or(std::vector<std::string>());
}

// The attributes of one device that have a file each: name -> path below its folder.
using AttributeFiles = std::vector<std::pair<const char*, const char*>>;
Elements ReadDevice(const std::string& folder, const AttributeFiles& files) {
  Elements attributes;
  for (const auto& [name, file] : files) {
    if (auto text = ReadSmall(format("{}/{}", folder, file)); text.has_value() && !text->empty()) {
      attributes[name] = *std::move(text);
    }
  }
  return attributes;
}

std::string WithoutHex(const std::string& text) {
  return text.starts_with("0x") ? text.substr(2) : text;
}

Status GatherPci(const std::string& sys, Facts& facts) {
  static const AttributeFiles kMore = {{"subsystem_vendor", "subsystem_vendor"},
                                       {"subsystem_device", "subsystem_device"},
                                       {"sriov_totalvfs", "sriov_totalvfs"},
                                       {"iommu_group/type", "iommu_group/type"},
                                       {"iommu/intel-iommu/version", "iommu/intel-iommu/version"}};
  TRY_ASSIGN(const auto functions, host::ListPci(sys));
  for (const host::PciFunction& function : functions) {
    const std::string folder = format("{}/bus/pci/devices/{}", sys, function.address);
    PciDevice device{function, access((folder + "/sriov_totalvfs").c_str(), R_OK) == 0,
                     ReadDevice(folder, kMore)};
    for (const char* name : {"subsystem_vendor", "subsystem_device", "iommu/intel-iommu/version"}) {
      if (const auto found = device.more.find(name); found != device.more.end()) {
        found->second = WithoutHex(found->second);
      }
    }
    facts.pci.push_back(std::move(device));
  }
  return {};
}

// A device whose interfaces have the class counts for each of their classes.
void GatherUsb(const std::string& sys, Facts& facts) {
  const std::string bus = sys + "/bus/usb/devices";
  const std::vector<std::string> names = NamesIn(bus);
  for (const std::string& name : names) {
    Elements device = ReadDevice(JoinPath(bus, name), {{"class", "bDeviceClass"},
                                                       {"vendor", "idVendor"},
                                                       {"device", "idProduct"},
                                                       {"serial", "serial"}});
    if (!device.contains("vendor") || !device.contains("class")) {
      continue;
    }
    if (device["class"] != "00") {
      facts.usb_devices.push_back(std::move(device));
      continue;
    }
    for (const std::string& part : names) {
      const auto interface = ReadSmall(JoinPath(bus, part) + "/bInterfaceClass");
      if (part.starts_with(name + ":") && interface.has_value()) {
        device["class"] = *interface;
        if (std::ranges::find(facts.usb_devices, device) == facts.usb_devices.end()) {
          facts.usb_devices.push_back(device);
        }
      }
    }
  }
}

void GatherDevices(const std::string& sys, Facts& facts) {
  for (const std::string& name : NamesIn(sys + "/block")) {
    Elements device =
        ReadDevice(format("{}/block/{}/queue", sys, name), {{"dax", "dax"},
                                                            {"rotational", "rotational"},
                                                            {"nr_zones", "nr_zones"},
                                                            {"zoned", "zoned"}});
    device["name"] = name;
    facts.block_devices.push_back(std::move(device));
  }
  for (const std::string& name : NamesIn(sys + "/class/net")) {
    const std::string folder = format("{}/class/net/{}", sys, name);
    Elements device = ReadDevice(folder, {{"operstate", "operstate"},
                                          {"speed", "speed"},
                                          {"mtu", "mtu"},
                                          {"sriov_numvfs", "device/sriov_numvfs"},
                                          {"sriov_totalvfs", "device/sriov_totalvfs"}});
    if (!device.contains("operstate")) {
      continue;  // a file of the bonding driver, not a device
    }
    device["name"] = name;
    const bool hardware = access((folder + "/device").c_str(), F_OK) == 0;
    (hardware ? facts.network_devices : facts.virtual_network_devices).push_back(device);
  }
  for (const std::string& name : NamesIn(sys + "/bus/nd/devices")) {
    Elements device = ReadDevice(format("{}/bus/nd/devices/{}", sys, name),
                                 {{"devtype", "devtype"}, {"mode", "mode"}});
    device["name"] = name;
    facts.nvdimms.push_back(std::move(device));
  }
}

void GatherFiles(const std::string& sys, Facts& facts) {
  const auto read = [&](const std::string& path) {
    if (auto text = ReadSmall(format("{}/{}", sys, path)); text.has_value()) {
      facts.files[path] = *std::move(text);
    }
  };
  std::ranges::for_each(kFiles, read);
  for (const char* name : kDmi) {
    read(format("class/dmi/id/{}", name));
  }
  for (const std::string& cpu : NamesIn(sys + "/bus/cpu/devices")) {
    const auto threads =
        ReadSmall(format("{}/bus/cpu/devices/{}/topology/thread_siblings_list", sys, cpu));
    facts.multithreading |=
        threads.has_value() && threads->find_first_of(",-") != std::string::npos;
    if (const auto package =
            ReadSmall(format("{}/bus/cpu/devices/{}/topology/physical_package_id", sys, cpu))) {
      facts.packages.insert(*package);
    }
    if (const auto base =
            ReadSmall(format("{}/bus/cpu/devices/{}/cpufreq/base_frequency", sys, cpu))) {
      facts.base_frequencies.insert(*base);
    }
  }
  const std::string frequencies = sys + "/devices/system/cpu/cpufreq";
  for (const std::string& name : NamesIn(frequencies)) {
    const Elements policy = ReadDevice(
        JoinPath(frequencies, name), {{"cpus", "affected_cpus"}, {"governor", "scaling_governor"}});
    if (policy.contains("cpus") && policy.contains("governor")) {
      facts.governors.insert(policy.at("governor"));
    }
  }
  facts.numa_nodes = static_cast<int>(NamesIn(sys + "/bus/node/devices").size());
  const std::string huge_pages = sys + "/kernel/mm/hugepages";
  for (const std::string& size : NamesIn(huge_pages)) {
    facts.huge_pages[size] = ReadSmall(format("{}/{}/nr_hugepages", huge_pages, size)).value_or("");
  }
  facts.kvm = access((sys + "/devices/virtual/misc/kvm").c_str(), F_OK) == 0;
}

// Whether more of the kernel's configuration is requested than the options with labels.
bool WantsKernelConfig(const LabelOptions& options, const Facts& facts) {
  static constexpr char kName[] = "kernel.config";
  return std::ranges::find(options.unpublished, kName) == options.unpublished.end() ||
         nfd::NeedsOf(options.rules).contains(kName) ||
         std::ranges::any_of(facts.custom_files, [](const LocalFile& file) {
           return Lower(file.text).contains(kName);
         });
}

// The kernel's configuration line by line: it is a quarter of a megabyte.
void GatherKernelConfig(const Sources& sources, const LabelOptions& options, Facts& facts) {
  const std::string release(Trim(facts.kernel_release));
  const bool all = WantsKernelConfig(options, facts);
  for (const std::string& path :
       {sources.kernel_config, format("{}/config-{}", sources.boot, release),
        format("{}/{}/config", sources.modules, release),
        format("{}/{}/build/.config", sources.modules, release)}) {
    std::ifstream file(path);
    Elements config;
    for (std::string line; file && std::getline(file, line);) {
      const size_t equals = line.find('=');
      if (!line.starts_with("CONFIG_") || equals == std::string::npos) {
        continue;
      }
      const std::string name = line.substr(7, equals - 7);
      const bool wanted =
          std::ranges::find(options.kernel_options, name) != options.kernel_options.end();
      if (all || wanted) {
        std::string value = line.substr(equals + 1);
        std::erase(value, '"');
        config[name] = std::move(value);
      }
    }
    if (file.eof()) {
      facts.kernel_config = std::move(config);
      return;
    }
  }
}

#ifdef __x86_64__
// All zero if the processor has no such leaf.
CpuidRegisters Cpuid(unsigned leaf, unsigned sub_leaf = 0) {
  CpuidRegisters to;
  return __get_cpuid_count(leaf, sub_leaf, &to.eax, &to.ebx, &to.ecx, &to.edx) != 0
             ? to
             : CpuidRegisters();
}

// A leaf of the hypervisor; all zero if there is none.
CpuidRegisters HypervisorCpuid(unsigned leaf) {
  constexpr unsigned kHypervisorBit = 1U << 31U;
  CpuidRegisters to;
  if ((Cpuid(1).ecx & kHypervisorBit) != 0) {
    __cpuid(leaf, to.eax, to.ebx, to.ecx, to.edx);
  }
  return to;
}

CpuidLeaves Leaves() {
  constexpr unsigned kOfHypervisor = 0x40000000;
  constexpr unsigned kSavesBit = 1U << 27U;
  CpuidLeaves leaves;
  for (const CpuidLeaf& asked : AskedLeaves()) {
    leaves.registers[asked] = (asked.leaf & kOfHypervisor) != 0 ? HypervisorCpuid(asked.leaf)
                                                                : Cpuid(asked.leaf, asked.sub_leaf);
  }
  if ((Cpuid(1).ecx & kSavesBit) != 0) {
    uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(leaves.xcr0), "=d"(high) : "c"(0));
  }
  return leaves;
}

std::string HypervisorLetters() {
  const CpuidRegisters to = HypervisorCpuid(0x40000000);
  std::array<char, 12> letters{};
  std::memcpy(letters.data(), &to.ebx, 4);
  std::memcpy(letters.data() + 4, &to.ecx, 4);
  std::memcpy(letters.data() + 8, &to.edx, 4);
  return {letters.begin(), std::ranges::find(letters, '\0')};
}

// Without SGX, leaf 0x12 is undefined.
std::vector<CpuidRegisters> SgxSections() {
  constexpr unsigned kSgxBit = 1U << 2U;
  constexpr unsigned kMost = 64;
  std::vector<CpuidRegisters> sections;
  const bool sgx = (Cpuid(7).ebx & kSgxBit) != 0;
  for (unsigned sub_leaf = 2; sgx && sub_leaf < kMost; ++sub_leaf) {
    const CpuidRegisters section = Cpuid(0x12, sub_leaf);
    if (!IsEpcSection(section)) {
      break;
    }
    sections.push_back(section);
  }
  return sections;
}

void GatherRegisters(Facts& facts) {
  facts.leaves = Leaves();
  facts.hypervisor = HypervisorLetters();
  facts.frequencies = Cpuid(0x16);
  facts.sgx = SgxSections();
  facts.resources = {.features = Cpuid(7),
                     .monitoring = Cpuid(0xf),
                     .l3_monitoring = Cpuid(0xf, 1),
                     .allocation = Cpuid(0x10)};
}
#else
void GatherRegisters(Facts& /*facts*/) {}
#endif

// A host's /proc mounted at any path is the running kernel's.
bool IsThisMachine(const std::string& proc) {
  constexpr char kBoot[] = "/sys/kernel/random/boot_id";
  return proc == "/proc" ||
         ReadSmall(proc + kBoot).value_or("") == ReadSmall(std::string("/proc") + kBoot);
}

bool IsFolder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The files that are not hidden, with their names prefixed by `below`. A ConfigMap's are links into
// a hidden folder. A file removed meanwhile is skipped; one that is too large or unreadable is a
// warning.
Status ReadFolder(const std::string& folder, const std::string& below, long long largest,
                  std::vector<LocalFile>& files, std::vector<std::string>& warnings) {
  TRY_ASSIGN(const auto entries, ListDirectory(folder));
  for (const std::string& name : entries) {
    const std::string path = JoinPath(folder, name);
    struct stat info{};
    if (name.starts_with('.') || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
      continue;
    }
    if (info.st_size > largest) {
      warnings.push_back(format("{} is left out: it is larger than {} KiB", path, largest / 1024));
      continue;
    }
    Result<std::string> text = ReadFile(path);
    if (text.has_value()) {
      files.push_back({below + name, *std::move(text)});
    } else if (text.error().kind != ErrorKind::kNotFound) {
      warnings.push_back(format("{} is left out: {}", path, text.error().message));
    }
  }
  return {};
}

Status ReadCustomDirectory(const std::string& custom_dir, Facts& facts) {
  for (const std::string& folder : CustomFolders(custom_dir)) {
    const std::string below = folder == custom_dir ? "" : BaseName(folder) + "/";
    TRY(ReadFolder(folder, below, kLargestCustomFile, facts.custom_files, facts.warnings));
  }
  return {};
}

}  // namespace

Sources HostSources(const std::string& prefix) {
  const std::string mounted = prefix + "proc";
  const auto has = [&mounted](const char* name) {
    return access(JoinPath(mounted, name).c_str(), R_OK) == 0;
  };
  Sources sources;
  sources.sys = prefix + "sys";
  sources.os_release = prefix + "etc/os-release";
  sources.proc = has("cpuinfo") ? mounted : "/proc";
  // NFD's own manifests mount only this one.
  sources.swaps = (has("swaps") ? mounted : sources.proc) + "/swaps";
  sources.boot = prefix + "boot";
  sources.modules = prefix + "lib/modules";
  return sources;
}

Result<Facts> Gather(const Sources& sources, const LabelOptions& options) {
  Facts facts;
  if (access(sources.sys.c_str(), R_OK) != 0) {
    return FailErrno(format("read {}", sources.sys), errno);
  }
  TRY(GatherPci(sources.sys, facts));
  GatherUsb(sources.sys, facts);
  GatherDevices(sources.sys, facts);
  GatherFiles(sources.sys, facts);
  TRY_ASSIGN(facts.kernel_release, ReadIfThere(sources.proc + "/sys/kernel/osrelease"));
  TRY_ASSIGN(facts.cpuinfo, ReadIfThere(sources.proc + "/cpuinfo"));
  TRY_ASSIGN(facts.modules, ReadOrNothing(sources.proc + "/modules"));
  TRY_ASSIGN(facts.os_release, ReadIfThere(sources.os_release));
  facts.swaps = ReadFile(sources.swaps).value_or("");
  facts.builtin =
      ReadOrNothing(format("{}/{}/modules.builtin", sources.modules, Trim(facts.kernel_release)))
          .value_or(std::nullopt);
  if (IsThisMachine(sources.proc)) {
    GatherRegisters(facts);
  }
  facts.node_name = sources.node_name;
  TRY(ReadFolder(sources.features_dir, "", kLargestLocalFile, facts.local_files, facts.warnings));
  TRY(ReadCustomDirectory(sources.custom_dir, facts));
  GatherKernelConfig(sources, options, facts);
  return facts;
}

std::vector<std::string> CustomFolders(const std::string& custom_dir) {
  std::vector<std::string> folders = {custom_dir};
  for (const std::string& name : NamesIn(custom_dir)) {
    if (const std::string path = JoinPath(custom_dir, name);
        !name.starts_with('.') && IsFolder(path)) {
      folders.push_back(path);
    }
  }
  return folders;
}

}  // namespace gantry::node_features
