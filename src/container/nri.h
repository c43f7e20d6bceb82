// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

// The plugin's side of the Node Resource Interface (NRI, github.com/containerd/nri, protocol
// v1alpha1): a container runtime asks its plugins, for each container that it makes, what to add.
namespace gantry::container {

struct NriContainer {
  std::string name;
  std::string pod_name;
  std::string pod_namespace;
  std::map<std::string, std::string> pod_annotations;
};

// One connection to a runtime, as bytes: received bytes in, bytes to send out.
class NriSession {
 public:
  // The CDI names of the devices that a container gets.
  using Devices = std::function<std::vector<std::string>(const NriContainer&)>;

  // `index`: two digits, the plugin's order among the plugins.
  NriSession(std::string name, std::string index, Devices devices)
      : name_(std::move(name)), index_(std::move(index)), devices_(std::move(devices)) {}

  // The first bytes to send: they register the plugin.
  [[nodiscard]] std::string Hello() const;

  // kInvalid: the peer does not speak the protocol; kDenied: it rejects the plugin. Close the
  // connection then.
  Result<std::string> Take(std::string_view bytes);

  // Whether the runtime has accepted the plugin and calls it from now on.
  [[nodiscard]] bool configured() const { return configured_; }

 private:
  Result<std::string> TakeMessages(bool from_runtime_service, std::string& stream);
  std::string Answer(std::string_view method, std::string_view request, bool& known);

  const std::string name_;
  const std::string index_;
  const Devices devices_;
  bool configured_ = false;
  std::string trunk_;     // an incomplete frame
  std::string requests_;  // of the runtime: an incomplete message
  std::string answers_;   // of the runtime to the plugin's own request
};

}  // namespace gantry::container
