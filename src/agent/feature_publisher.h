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

// By which a program tells the operator what it found of its node: a NodeFeature object, and what
// is written by the same connection. No connection stays open.
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
  // What is to be stored, given what is (nullptr: nothing); node and namespace are filled in.
  using Form = std::function<policy::NodeFeature(const Json* stored)>;

  explicit FeaturePublisher(Options options) : options_(std::move(options)) {}

  // Connects, does the work, and closes the connection. As kube::LoadConfig, kube::Client and the
  // work fail. Blocks for as long as the requests take.
  Result<bool> Connected(const Work& work) const;
  // The same in a child process, with which TLS and its megabytes go, for two minutes at most. For
  // processes of one thread; as host::ChildCall fails, too. Ends early when `stop_fd` is readable.
  Result<bool> ConnectedInChild(const Work& work, int stop_fd);

  [[nodiscard]] const std::string& node() const { return options_.node; }
  // Within the work: stores the object of this name, unless it is stored already.
  Result<bool> Store(kube::Client& client, const std::string& name, const Form& form) const;

 private:
  Options options_;
  host::ChildCall child_{"publish labels"};
};

}  // namespace gantry::agent
