// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/paths.h"
#include "kube/client.h"
#include "kube/watch.h"

namespace gantry::gpu_features {

// The value of one label of one node, as it changes. Holds one connection to the API server; used
// only where a node chooses among several configurations.
class NodeLabel : private kube::WatchSink {
 public:
  static Result<std::unique_ptr<NodeLabel>> Follow(const std::string& kubeconfig,
                                                   const std::string& node,
                                                   const std::string& label);
  NodeLabel(const NodeLabel&) = delete;
  NodeLabel& operator=(const NodeLabel&) = delete;
  ~NodeLabel() override;

  // Readable when the value changed or became known, until Take.
  [[nodiscard]] int fd() const { return changed_.get(); }
  // kUnavailable until the node has been seen; empty: it has no such label.
  Result<std::string> Take();

 private:
  NodeLabel(std::string label, std::unique_ptr<kube::Client> client, Fd changed);
  void Upsert(const Json& object) override;
  void Remove(const kube::Key& key) override;
  void Synced() override;
  void Set(const std::string& value);

  const std::string label_;
  Fd changed_;  // eventfd
  std::mutex mutex_;
  bool known_ = false;
  std::string value_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Watch> watch_;
};

}  // namespace gantry::gpu_features
