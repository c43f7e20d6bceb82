// SPDX-License-Identifier: Apache-2.0
// Which configuration does this node's label name, now? One watch of one object; its thread hands
// the value over through an eventfd, so that the main loop waits for it as for everything else.
#include "operands/gpu_features/node_label.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "policy/names.h"

namespace gantry::gpu_features {

Result<std::unique_ptr<NodeLabel>> NodeLabel::Follow(const std::string& kubeconfig,
                                                     const std::string& node,
                                                     const std::string& label) {
  TRY_ASSIGN(kube::Config config, kube::LoadConfig(kubeconfig));
  TRY_ASSIGN(auto client,
             kube::Client::Create(std::move(config), {.component = "gpu-feature-discovery",
                                                      .field_manager = names::kFieldManager,
                                                      .max_idle_connections = 0}));
  Fd changed(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed.valid()) {
    return FailErrno("follow node label: eventfd", errno);
  }
  std::unique_ptr<NodeLabel> follower(new NodeLabel(label, std::move(client), std::move(changed)));
  kube::WatchOptions options;
  options.on_failure = [](const Error& error) { log::Debug("{}", error.message); };
  follower->watch_ = std::make_unique<kube::Watch>(
      *follower->client_, kube::kinds::kNode,
      kube::Selection{.space = "", .labels = "", .fields = format("metadata.name={}", node)},
      static_cast<kube::WatchSink&>(*follower), std::move(options));
  follower->watch_->Start();
  return follower;
}

NodeLabel::NodeLabel(std::string label, std::unique_ptr<kube::Client> client, Fd changed)
    : label_(std::move(label)), changed_(std::move(changed)), client_(std::move(client)) {}

NodeLabel::~NodeLabel() { watch_.reset(); }

Result<std::string> NodeLabel::Take() {
  uint64_t count = 0;
  if (read(changed_.get(), &count, sizeof(count)) < 0 && errno != EAGAIN) {
    return FailErrno("read eventfd", errno);
  }
  const std::lock_guard lock(mutex_);
  return known_ ? Result<std::string>(value_)
                : Fail(ErrorKind::kUnavailable,
                       format("read node label {}: the node has not been seen yet", label_));
}

void NodeLabel::Upsert(const Json& object) {
  const std::string* value = kube::LabelOf(object, label_);
  Set(value != nullptr ? *value : "");
}

// A node that is gone takes its pods with it; its last label holds until then.
void NodeLabel::Remove(const kube::Key& /*key*/) {}

void NodeLabel::Synced() {}

void NodeLabel::Set(const std::string& value) {
  {
    const std::lock_guard lock(mutex_);
    if (known_ && value == value_) {
      return;
    }
    known_ = true;
    value_ = value;
  }
  const uint64_t one = 1;
  if (write(changed_.get(), &one, sizeof(one)) < 0) {
    log::Warning("tell of a changed node label: {}", FailErrno("write", errno).error().message);
  }
}

}  // namespace gantry::gpu_features
