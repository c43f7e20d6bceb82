// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

// Operations of the running kernel. Everything else of an installation is files, so a test uses a
// folder as root and a fake kernel.
namespace gantry::driver {

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Loads a module's file (.ko, .ko.xz) with parameters, and before it the modules of the node's
  // own kernel that it needs. Success if it is loaded already. kInvalid: this kernel rejects it
  // (another kernel's module, an unknown parameter); kDenied: the right, or a signature, is
  // missing; kNotFound: a file, or a symbol that a module needs; kUnsupported: the module found no
  // device.
  virtual Status Load(const std::string& file, const std::string& parameters) = 0;

  // Success if it is not loaded. kConflict: it is in use.
  virtual Status Unload(const std::string& module) = 0;

  // Mounts the tree with its submounts at `place`, which is made. For "/" without the mounts below
  // /sys.
  virtual Status Bind(const std::string& tree, const std::string& place) = 0;

  // Unmounts everything at `place`, even if a process still uses it.
  virtual Status Unbind(const std::string& place) = 0;

  virtual Status MakeDeviceNodes(const std::string& root) = 0;
};

// The machine's kernel. `modules` is a folder like /lib/modules/<release>, with the modules that a
// driver's modules need.
std::unique_ptr<Kernel> RunningKernel(std::string modules);

// Why the kernel rejected a module, by the error number of finit_module(2).
std::string WhyNotLoaded(int error_number);

}  // namespace gantry::driver
