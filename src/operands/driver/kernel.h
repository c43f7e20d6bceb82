// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

// What only the running kernel can do. Everything else of an installation is files, so a test has a
// folder for a root and a kernel of its own making.
namespace gantry::driver {

class Kernel {
 public:
  virtual ~Kernel() = default;

  // Loads a module's file (.ko, .ko.xz) with parameters, and before it the modules of the node's
  // own kernel that it needs. Success if it is loaded already. kInvalid: this kernel does not take
  // it (another kernel's, an unknown parameter); kDenied: the right, or a signature, is missing;
  // kNotFound: a file, or a symbol that a module needs; kUnsupported: the module found no device.
  virtual Status Load(const std::string& file, const std::string& parameters) = 0;

  // Success if it is not loaded. kConflict: it is in use.
  virtual Status Unload(const std::string& module) = 0;

  // Shows the tree with all that is mounted in it at `place`, which is made. For "/" what is
  // mounted below /sys is left out.
  virtual Status Bind(const std::string& tree, const std::string& place) = 0;

  // Takes all away that is mounted at `place`, also where somebody is still in it.
  virtual Status Unbind(const std::string& place) = 0;

  virtual Status MakeDeviceNodes(const std::string& root) = 0;
};

// The machine's. `modules` is a folder as /lib/modules/<release>, where the modules lie that a
// driver's modules need.
std::unique_ptr<Kernel> RunningKernel(std::string modules);

// Why the kernel did not take a module, by the error number of finit_module(2).
std::string WhyNotLoaded(int error_number);

}  // namespace gantry::driver
