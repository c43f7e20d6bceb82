// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "kubelet/dra/dra.h"

namespace gantry::kubelet::dra {

struct DraEvent {
  enum class What {
    kRegistered,
    kRegisterFailed,  // the kubelet retries by itself
    kSuperseded,      // another process replaced a socket; it serves from now on
    kFailed,          // can't serve: a folder was removed, or a socket can't be made
  } what;
  Error error;  // with kRegisterFailed and kFailed
};

// Serves a driver to the kubelet of this node: its registration in <registry>/<driver>-reg.sock and
// its service in <folder>/dra.sock. A removed socket is made anew, so that the kubelet registers
// the driver again. Two threads, and one more for each call.
class DraPlugin {
 public:
  struct Options {
    std::string driver;               // "gpu.nvidia.com"
    std::string registry;             // the kubelet's folder plugins_registry
    std::string folder;               // of the driver, as the kubelet too spells it
    ClaimHandler* handler = nullptr;  // outlives the plugin
    std::function<void(const DraEvent&)> on_event = {};  // from its threads; must not block
  };

  // kNotFound if there is no such folder.
  static Result<std::unique_ptr<DraPlugin>> Start(Options options);
  // Waits for the calls that are being answered, and removes its remaining sockets.
  ~DraPlugin();
  DraPlugin(const DraPlugin&) = delete;
  DraPlugin& operator=(const DraPlugin&) = delete;

 private:
  class Impl;
  explicit DraPlugin(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet::dra
