// SPDX-License-Identifier: Apache-2.0
// What is known of a GPU that vfio-pci holds for a virtual machine? Its name from the PCI database,
// and its memory from the size of its PCI regions; NVML does not see it.
#include "gpu/vfio.h"

#include <bit>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace gantry::gpu {
namespace {

constexpr size_t kRegions = 6;       // of a PCI function; the next is its ROM
constexpr uint64_t kMemory = 0x200;  // IORESOURCE_MEM

// Removes the next line from the text and returns it.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::optional<uint64_t> ParseHex(std::string_view text) {
  if (!text.starts_with("0x")) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

}  // namespace

bool IsVfioDriver(std::string_view driver) {
  return driver.ends_with("vfio-pci") || driver.ends_with("vfio_pci");
}

bool KeepsItsGroup(std::string_view driver) {
  // The last two leave the device's memory accesses to others (driver_managed_dma).
  return !driver.empty() && !IsVfioDriver(driver) && driver != "pci-stub" && driver != "pcieport";
}

std::optional<std::string> NameInPciIds(std::string_view database, int vendor, int device) {
  const std::string vendor_line = format("{:04x} ", vendor);
  const std::string device_line = format("\t{:04x} ", device);
  bool inside = false;
  while (!database.empty()) {
    const std::string_view line = TakeLine(database);
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (line.front() != '\t') {
      if (inside) {
        return std::nullopt;
      }
      inside = line.starts_with(vendor_line);
    } else if (inside && line.starts_with(device_line)) {
      return std::string(Trim(line.substr(device_line.size())));
    }
  }
  return std::nullopt;
}

uint64_t AddressableMemory(std::string_view resource) {
  constexpr uint64_t kLargest = uint64_t{1} << 62;
  uint64_t total = 0;
  for (size_t i = 0; i < kRegions && !resource.empty(); ++i) {
    const std::vector<std::string> words = Split(Trim(TakeLine(resource)), ' ');
    if (words.size() != 3) {
      return 0;
    }
    const auto start = ParseHex(words[0]);
    const auto end = ParseHex(words[1]);
    const auto flags = ParseHex(words[2]);
    if (!start.has_value() || !end.has_value() || !flags.has_value() || *end < *start) {
      return 0;
    }
    const uint64_t size = *end == 0 ? 0 : *end - *start + 1;
    if ((*flags & kMemory) != 0 && size <= kLargest - total) {
      total += size;
    }
  }
  return total == 0 ? 0 : std::bit_ceil(total);
}

}  // namespace gantry::gpu
