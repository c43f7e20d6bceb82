// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"

namespace gantry::agent {

// What the plugin itself has to do with the API server: events on its Node and, if asked, the value
// of one label of it. No connection is open except while the label is watched or
// something is written.
class NodeLink {
 public:
  // kInvalid or kNotFound when there is no usable service account or kubeconfig.
  static Result<std::unique_ptr<NodeLink>> Create(std::string node);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void Normal(const std::string& reason, const std::string& message);
  void Warning(const std::string& reason, const std::string& message);

  // Tells the label's value at the start and each time it changes, from a thread; none: the Node
  // has no such label. Only once.
  void WatchLabel(std::string label, std::function<void(std::optional<std::string>)> tell);

 private:
  class Impl;
  explicit NodeLink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A NodeLink that is made when it is needed first.
class LazyNodeLink {
 public:
  // Without a name there is no Node to tell anything.
  explicit LazyNodeLink(std::string node) : node_(std::move(node)) {}

  // nullptr when there is no Node or no usable API server; the latter is logged, once.
  NodeLink* Get();
  [[nodiscard]] bool asked() const { return asked_; }

 private:
  const std::string node_;
  bool asked_ = false;
  std::unique_ptr<NodeLink> link_;
};

}  // namespace gantry::agent
