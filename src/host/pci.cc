// SPDX-License-Identifier: Apache-2.0
// Which devices are on this machine's PCI bus, and which driver is bound to each? From sysfs alone:
// no pci.ids, no access to the device.
#include "host/pci.h"

#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "host/files.h"

namespace gantry::host {
namespace {

// "0x10de\n" -> 0x10de, "-1\n" -> -1.
Result<int> ReadNumber(const std::string& path) {
  TRY_ASSIGN(const std::string text, ReadFile(path));
  std::string_view digits = Trim(text);
  const bool hex = digits.starts_with("0x");
  digits.remove_prefix(hex ? 2 : 0);
  int value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Fail(ErrorKind::kInvalid, format("read {}: not a number: {}", path, Trim(text)));
  }
  return value;
}

std::string LinkName(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).filename().string();
}

Result<PciFunction> ReadFunction(const std::string& directory) {
  PciFunction function;
  function.address = BaseName(directory);
  TRY_ASSIGN(function.vendor, ReadNumber(JoinPath(directory, "vendor")));
  TRY_ASSIGN(function.device, ReadNumber(JoinPath(directory, "device")));
  TRY_ASSIGN(function.class_code, ReadNumber(JoinPath(directory, "class")));
  function.numa_node = ReadNumber(JoinPath(directory, "numa_node")).value_or(-1);
  function.driver = LinkName(JoinPath(directory, "driver"));
  function.virtual_function = !LinkName(JoinPath(directory, "physfn")).empty();
  function.iommu_group =
      static_cast<int>(ParseInt(LinkName(JoinPath(directory, "iommu_group"))).value_or(-1));
  return function;
}

}  // namespace

bool IsDisplayController(int class_code) { return class_code >> 16 == 0x03; }

bool IsNvidiaGpu(const PciFunction& function) {
  return function.vendor == kNvidiaVendor && IsDisplayController(function.class_code);
}

Result<std::vector<PciFunction>> ListPci(const std::string& sys) {
  const std::string devices = JoinPath(sys, "bus/pci/devices");
  TRY_ASSIGN(const std::vector<std::string> names, ListDirectory(devices));
  std::vector<PciFunction> functions;
  functions.reserve(names.size());
  for (const std::string& name : names) {
    if (Result<PciFunction> function = ReadFunction(JoinPath(devices, name))) {
      functions.push_back(*std::move(function));
    }
  }
  return functions;
}

std::string PcieRoot(const std::string& sys, const std::string& address) {
  std::error_code error;
  const auto path =
      std::filesystem::canonical(JoinPath(JoinPath(sys, "bus/pci/devices"), address), error);
  for (const auto& part : path) {
    if (part.string().starts_with("pci") && part.string().find(':') != std::string::npos) {
      return part.string();
    }
  }
  return "";
}

}  // namespace gantry::host
