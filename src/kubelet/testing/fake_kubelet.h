// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kubelet/device_plugin/device_plugin.h"

namespace gantry::kubelet {

// The device manager's half of the protocol, with the real one's behaviour that plugins must handle
// (Kubernetes 1.36, pkg/kubelet/cm/devicemanager). At its start it removes every socket in the
// folder. It dials the plugin before it answers Register. When a stream ends, it drops the plugin
// registered then, even if the stream was its predecessor's. If a plugin registers and then fails
// its first question, it is forgotten, and an earlier plugin is no longer dropped. For tests and
// benchmarks.
class FakeKubelet {
 public:
  explicit FakeKubelet(std::string folder);
  ~FakeKubelet();  // stops

  void Start();
  // Ends every connection and removes kubelet.sock.
  void Stop();

  // Blocks until the resource's devices, as the kubelet counts them, satisfy the condition. Devices
  // of a dropped plugin are unhealthy.
  using Condition = std::function<bool(const std::vector<Device>&)>;
  bool WaitFor(const std::string& resource, const Condition& condition,
               std::chrono::milliseconds timeout = std::chrono::seconds(10));
  std::vector<Device> Devices(const std::string& resource);
  // Of all resources that were ever registered.
  std::map<std::string, std::vector<Device>> AllDevices();
  // Register calls so far, also those that failed.
  int registrations();
  bool WaitForRegistrations(int count,
                            std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // Blocks until this many device lists came over all ListAndWatch streams.
  bool WaitForLists(int count, std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // How often all of a resource's devices became unhealthy because a stream ended.
  int drops();
  // Refuses the next Register calls.
  void Refuse(int calls);

  Result<Allocation> Allocate(const std::string& resource, const std::vector<std::string>& ids);
  // Calls GetDevicePluginOptions, which needs nothing from the plugin.
  Status AskNothing(const std::string& resource);
  Result<std::vector<std::string>> Prefer(const std::string& resource,
                                          const PreferredRequest& request);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry::kubelet
