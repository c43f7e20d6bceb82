// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "host/child_call.h"
#include "kube/client.h"
#include "policy/node_feature.h"

namespace gantry::agent {

// Publishes a program's findings about its node to the operator: a NodeFeature object, and other
// objects over the same connection. No connection stays open.
class FeaturePublisher {
 public:
  struct Options {
    std::string node;
    std::string ns;          // of the object; empty: the credentials' own namespace
    std::string component;   // of the User-Agent
    std::string kubeconfig;  // a path; empty: as kube::LoadConfig finds it
  };
  // True if something was written.
  using Work = std::function<Result<bool>(kube::Client& client)>;
  // The object to store, given the stored one (nullptr: none); node and namespace are filled in.
  using Form = std::function<policy::NodeFeature(const Json* stored)>;

  explicit FeaturePublisher(Options options) : options_(std::move(options)) {}

  // Connects, does the work, and closes the connection. Fails as kube::LoadConfig, kube::Client and
  // the work do. Blocks for as long as the requests take.
  Result<bool> Connected(const Work& work) const;
  // The same in a child process, which frees TLS and its megabytes, for two minutes at most. For
  // processes of one thread; also fails as host::ChildCall does. Ends early when `stop_fd` is
  // readable.
  Result<bool> ConnectedInChild(const Work& work, int stop_fd);

  [[nodiscard]] const std::string& node() const { return options_.node; }
  // Within the work: stores the object of this name, unless it is already so.
  Result<bool> Store(kube::Client& client, const std::string& name, const Form& form) const;

 private:
  Options options_;
  host::ChildCall child_{"publish labels"};
};

}  // namespace gantry::agent
