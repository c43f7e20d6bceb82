// SPDX-License-Identifier: Apache-2.0
// Is this PCI function a virtual GPU, and of which host driver? NVIDIA's vGPU has a vendor specific
// capability (PCI id 09h: id, next, length) whose bytes 3 and 4 are "VF". Records {id, length}
// follow from byte 5 on; record 0 has the host driver's version and branch, ten bytes each, padded
// with NULs.
#include "gpu/vgpu.h"

#include <array>

namespace gantry::gpu {
namespace {

constexpr size_t kCapabilityPointer = 0x34;
constexpr size_t kFirstCapability = 0x40;  // below is the standard header
constexpr unsigned kVendorSpecific = 0x09;
constexpr size_t kRecords = 5;
constexpr size_t kFieldSize = 10;

unsigned ByteAt(std::string_view space, size_t at) {
  return at < space.size() ? static_cast<unsigned char>(space[at]) : 0;
}

std::string Field(std::string_view space, size_t at) {
  const std::string_view field = space.substr(at, kFieldSize);
  return std::string(field.substr(0, field.find('\0')));
}

std::optional<VgpuHost> ReadRecords(std::string_view capability) {
  size_t at = kRecords;
  while (at + 2 <= capability.size()) {
    const unsigned id = ByteAt(capability, at);
    const unsigned length = ByteAt(capability, at + 1);
    if (id == 0) {
      if (at + 2 + 2 * kFieldSize > capability.size()) {
        return std::nullopt;
      }
      return VgpuHost{Field(capability, at + 2), Field(capability, at + 2 + kFieldSize)};
    }
    if (length == 0) {
      return std::nullopt;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace

std::optional<VgpuHost> FindVgpuHost(std::string_view config_space) {
  if (config_space.size() < kConfigSpaceSize) {
    return std::nullopt;
  }
  const std::string_view space = config_space.substr(0, kConfigSpaceSize);
  std::array<bool, kConfigSpaceSize> seen{};
  size_t at = ByteAt(space, kCapabilityPointer);
  while (at >= kFirstCapability && !seen[at]) {
    seen[at] = true;
    const std::string_view capability = space.substr(at, ByteAt(space, at + 2));
    if (ByteAt(space, at) == kVendorSpecific && ByteAt(capability, 3) == 'V' &&
        ByteAt(capability, 4) == 'F') {
      return ReadRecords(capability);
    }
    at = ByteAt(space, at + 1);
  }
  return std::nullopt;
}

}  // namespace gantry::gpu
