// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"

namespace gantry::kubelet {

// The gRPC service of one resource: answers on connections that somebody else accepted, and makes
// the Register call. One thread of its own. Thread-safe.
class PluginService {
 public:
  struct Callbacks {
    // From the service's thread; must not block and must not destroy the service.
    std::function<void(Status)> on_registered;      // the answer to Register
    std::function<void(int open)> on_stream_ended;  // a ListAndWatch stream; `open` are left
  };

  PluginService(std::vector<Device> devices, std::shared_ptr<const Allocator> allocator,
                Callbacks callbacks);
  // Ends every stream and connection.
  ~PluginService();
  PluginService(const PluginService&) = delete;
  PluginService& operator=(const PluginService&) = delete;

  // Serves a connected socket, and owns it from here.
  void Adopt(int connection);
  // Sends the list to every open stream if it differs from the last one.
  void SetDevices(std::vector<Device> devices);
  void SetAllocator(std::shared_ptr<const Allocator> allocator);
  // Sends an empty list to every stream and ends it when that has gone out.
  void Retire();
  // From now on the kubelet's first question to a plugin is answered with an error.
  void Leave();
  // Calls Register on a socket connected to the kubelet, and owns it from here. One at a time.
  void Register(int kubelet, const std::string& resource, const std::string& endpoint);
  // Ends a Register call that is under way: it is answered with kTimeout.
  void GiveUpRegister();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
