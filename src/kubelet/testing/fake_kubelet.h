// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"

namespace gantry::kubelet {

// The device manager's half of the protocol, with the habits of the real one that plugins suffer
// from (Kubernetes 1.36, pkg/kubelet/cm/devicemanager): at its start it removes every socket in the
// folder; it dials the plugin before it answers Register; when a stream ends, it drops the plugin
// that is registered then, also if the stream was its predecessor's; a plugin that registers and
// then answers its first question with an error is forgotten, and whoever was registered before is
// no longer the one to drop. For tests and benchmarks.
class FakeKubelet {
 public:
  explicit FakeKubelet(std::string folder);
  ~FakeKubelet();  // stops

  void Start();
  // Ends every connection and removes kubelet.sock.
  void Stop();

  // Blocks until the resource's devices, as the kubelet counts them, satisfy the condition. Devices
  // of a plugin that was dropped are unhealthy.
  using Condition = std::function<bool(const std::vector<Device>&)>;
  bool WaitFor(const std::string& resource, const Condition& condition,
               std::chrono::milliseconds timeout = std::chrono::seconds(10));
  std::vector<Device> Devices(const std::string& resource);
  // Register calls so far, also those that failed.
  int registrations();
  bool WaitForRegistrations(int count,
                            std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // Blocks until so many device lists came over all ListAndWatch streams.
  bool WaitForLists(int count, std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // How often a resource's devices were all made unhealthy because a stream ended.
  int drops();
  // The next Register calls are refused.
  void Refuse(int calls);

  Result<Allocation> Allocate(const std::string& resource, const std::vector<std::string>& ids);
  // GetDevicePluginOptions: a call that asks the plugin for nothing.
  Status AskNothing(const std::string& resource);
  Result<std::vector<std::string>> Prefer(const std::string& resource,
                                          const PreferredRequest& request);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
