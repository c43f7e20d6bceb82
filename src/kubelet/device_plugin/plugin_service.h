// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"

namespace gantry::kubelet {

// The gRPC service of one resource: it answers on connections that the caller accepted, and calls
// Register. One thread of its own. Thread-safe.
class PluginService {
 public:
  struct Callbacks {
    // From the service's thread; must not block and must not destroy the service.
    std::function<void(Status)> on_registered;      // the result of Register
    std::function<void(int open)> on_stream_ended;  // a ListAndWatch stream; `open` remain
  };

  PluginService(std::vector<Device> devices, std::shared_ptr<const Allocator> allocator,
                Callbacks callbacks);
  // Ends every stream and connection.
  ~PluginService();
  PluginService(const PluginService&) = delete;
  PluginService& operator=(const PluginService&) = delete;

  // Serves a connected socket, and owns it from now on.
  void Adopt(int connection);
  // Sends the list to every open stream if it differs from the last one.
  void SetDevices(std::vector<Device> devices);
  void SetAllocator(std::shared_ptr<const Allocator> allocator);
  // Sends an empty list to every stream, and then ends it.
  void Retire();
  // From now on fails the kubelet's first question to a plugin.
  void Leave();
  // Calls Register on a socket connected to the kubelet, and owns the socket. One at a time.
  void Register(int kubelet, const std::string& resource, const std::string& endpoint);
  // Ends a pending Register call with kTimeout.
  void GiveUpRegister();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
