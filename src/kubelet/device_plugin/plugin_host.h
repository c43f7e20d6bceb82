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
    kNoKubelet,       // there is no kubelet's socket; waited for
    kRegisterFailed,  // tried again by itself
    kDropped,         // the kubelet ended the last stream; registered again by itself, after a
                      // pause that grows while it does so again and again
    kSuperseded,      // another process has put its socket over ours; it serves from now on
    // Can't serve. All: the folder is gone. One: its socket can't be made, said once for each
    // reason and tried again by itself, every 30 s in the end.
    kFailed,
  } what;
  std::string resource;  // empty: all, and of kNoKubelet
  Error error;           // of kRegisterFailed, kDropped and kFailed
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

  // kNotFound when there is no such folder.
  static Result<std::unique_ptr<PluginHost>> Start(Options options);
  // Ends all streams, and removes the sockets that are still ours. Where another process has taken
  // over, the kubelet is made to forget this one first, else it would drop the successor when our
  // stream ends; that takes a few milliseconds, and at most two seconds.
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // What is to be served from now on, all of it. A resource that goes on keeps its socket and its
  // streams and gets its new devices and allocator; one that is missing gets an empty list and
  // ends.
  void Serve(std::vector<PluginResource> resources);

 private:
  class Impl;
  explicit PluginHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
