// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"

namespace gantry::kubelet {

struct PluginResource {
  std::string name;      // "nvidia.com/gpu"
  std::string endpoint;  // its socket's name in the folder: "nvidia-gpu.sock"
  std::vector<Device> devices;
  std::shared_ptr<const Allocator> allocator;
};

struct PluginEvent {
  enum class What {
    kRegistered,
    kNoKubelet,       // there is no kubelet's socket; the host waits for it
    kRegisterFailed,  // retried automatically
    kDropped,         // the kubelet ended the last stream; registers again automatically, after a
                      // pause that grows with each repetition
    kSuperseded,      // another process replaced the socket; it serves from now on
    // Can't serve. All: the folder was removed. One: its socket can't be made; reported once for
    // each reason and retried, every 30 s in the end.
    kFailed,
  } what;
  std::string resource;  // empty: all, and with kNoKubelet
  Error error;           // with kRegisterFailed, kDropped and kFailed
};

// Serves resources to the kubelet of this node and keeps them registered: across kubelet restarts,
// a wiped folder, a dropped stream. Thread-safe; one thread, and one more for each resource.
class PluginHost {
 public:
  struct Options {
    std::string folder = "/var/lib/kubelet/device-plugins";
    std::string kubelet_socket = "kubelet.sock";  // in the folder; empty: serve, don't register
    std::function<void(const PluginEvent&)> on_event;  // from its thread; must not block
  };

  // kNotFound if there is no such folder.
  static Result<std::unique_ptr<PluginHost>> Start(Options options);
  // Ends all streams, and removes this plugin's remaining sockets. If another process has taken
  // over, the kubelet must forget this plugin first, else it would drop the successor when this
  // stream ends. That takes a few milliseconds, and at most two seconds.
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // Sets all resources to serve from now on. A resource that stays keeps its socket and its streams
  // and gets its new devices and allocator; a removed one sends an empty list and ends. `done` is
  // called from the host's thread when no earlier allocator is asked any more and the new lists are
  // on their way; must not block.
  void Serve(std::vector<PluginResource> resources, std::function<void()> done = [] {});

 private:
  class Impl;
  explicit PluginHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
