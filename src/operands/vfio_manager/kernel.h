// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gantry::vfio_manager {

// What changes the running kernel. All else is reading of files, so a test uses a folder as sysfs
// and a kernel that plays its effects.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Writes to a file of sysfs, in one write. Blocks while a device that is unbound is in use. The
  // error has the kernel's reason.
  virtual Status Write(const std::string& path, std::string_view text) = 0;

  // Loads a module with the host's own modprobe. kNotFound: the host has none.
  virtual Status Load(const std::string& module) = 0;
};

// The machine's kernel, of a host whose root is mounted at `host_root`.
std::unique_ptr<Kernel> RunningKernel(std::string host_root);

}  // namespace gantry::vfio_manager
