// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace gantry::agent {

// The Node that this program runs on: events about it and, on request, the values of one label and
// one annotation. It connects to the API server when first needed, and keeps a connection only
// while it watches them or writes an event. For one thread; its own threads are internal.
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
  // usable API server it writes nothing; the latter is logged, once.
  void Normal(const std::string& reason, const std::string& message);
  void Warning(const std::string& reason, const std::string& message);

  // Watches the label from now on, and the annotation of that name (empty: none); call it once.
  // kInvalid or kNotFound: no Node, no usable service account or kubeconfig; there will be no value
  // then.
  Status WatchLabel(const std::string& label, const std::string& annotation = {});
  [[nodiscard]] bool watches() const;
  // Readable when a value has become known or changed, until TakeLabel; -1 without a watch.
  [[nodiscard]] int label_fd() const;
  // nullopt: the Node has no such label. kUnavailable: the Node has not been seen yet. Does not
  // block.
  Result<std::optional<std::string>> TakeLabel();
  // Empty: the Node has no such annotation, or has not been seen yet. Does not block.
  [[nodiscard]] std::string Annotation() const;

 private:
  class Connection;
  Status Connect();
  Connection* ForEvents();

  const Options options_;
  bool told_ = false;  // that events are not written (logged)
  std::unique_ptr<Connection> connection_;
};

// The reference of an event to the Node: its name is also the uid, as in the kubelet's events and
// as `kubectl describe node` expects.
Json NodeOfEvents(const std::string& name);

}  // namespace gantry::agent
