// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gantry::gpu {

// Whether a driver hands a PCI function to virtual machines: vfio-pci, or a variant of it for some
// devices (nvgrace_gpu_vfio_pci).
bool IsVfioDriver(std::string_view driver);

// Whether a function with that driver keeps virtual machines from its IOMMU group: a driver of the
// host has it (Linux, Documentation/driver-api/vfio.rst). An empty driver: none is bound.
bool KeepsItsGroup(std::string_view driver);

// The name of a PCI device in a pci.ids database (its text), as
// "GA100 [A100 SXM4 80GB]"; nothing if it has none.
std::optional<std::string> NameInPciIds(std::string_view database, int vendor, int device);

// The addressable memory of a PCI function, in bytes: the sum of its memory regions (sysfs
// `resource`: lines of start, end and flags), rounded up to a power of two. 0 for text of another
// form.
uint64_t AddressableMemory(std::string_view resource);

}  // namespace gantry::gpu
