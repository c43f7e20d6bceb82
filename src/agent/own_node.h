// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace gantry::agent {

// The Node that this program runs on: events about it and, if asked, the value of one label. The
// connection to the API server is made when it is first needed, and none is open except while the
// label is watched or an event is written. For one thread; what goes on in others stays inside.
class OwnNode {
 public:
  struct Options {
    std::string name;             // of the Node; empty: there is none
    std::string component;        // the source of its events: "nvidia-device-plugin"
    std::string kubeconfig = {};  // a path; empty: as kube::LoadConfig finds it
  };
  explicit OwnNode(Options options);
  ~OwnNode();
  OwnNode(const OwnNode&) = delete;
  OwnNode& operator=(const OwnNode&) = delete;

  // Writes an event, or adds to the count of the same one. Does not block. Without a Node or a
  // usable API server nothing is written; the latter is logged, once.
  void Normal(const std::string& reason, const std::string& message);
  void Warning(const std::string& reason, const std::string& message);

  // Watches the label from now on; once only. kInvalid or kNotFound: no Node, no usable service
  // account or kubeconfig; there will be no value then.
  Status WatchLabel(const std::string& label);
  [[nodiscard]] bool watches() const;
  // Readable when the value has become known or changed, until TakeLabel; -1 without a watch.
  [[nodiscard]] int label_fd() const;
  // nullopt: the Node has no such label. kUnavailable: the Node has not been seen yet. Does not
  // block.
  Result<std::optional<std::string>> TakeLabel();

 private:
  class Connection;
  Status Connect();
  Connection* ForEvents();

  const Options options_;
  bool told_ = false;  // that events are not written
  std::unique_ptr<Connection> connection_;
};

// What an event about the Node names it by: the name is its uid too, as in the kubelet's events,
// where `kubectl describe node` looks for them.
Json NodeOfEvents(const std::string& name);

}  // namespace gantry::agent
