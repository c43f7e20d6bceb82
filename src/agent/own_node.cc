// SPDX-License-Identifier: Apache-2.0
// Which label and annotation does this program's own Node have, and how does the program write
// events about it? One watch of one object; its thread tells of changed values through an eventfd,
// so that a main loop waits for them as for everything else.
#include "agent/own_node.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/events.h"
#include "kube/watch.h"

namespace gantry::agent {
namespace {

class LabelSink : public kube::WatchSink {
 public:
  LabelSink(std::string label, std::string annotation, Fd changed)
      : label_(std::move(label)),
        annotation_(std::move(annotation)),
        changed_(std::move(changed)) {}

  [[nodiscard]] int fd() const { return changed_.get(); }

  Result<std::optional<std::string>> Take() {
    uint64_t count = 0;
    if (read(changed_.get(), &count, sizeof(count)) < 0 && errno != EAGAIN) {
      return FailErrno("read eventfd", errno);
    }
    const std::lock_guard lock(mutex_);
    if (!seen_) {
      return Fail(ErrorKind::kUnavailable,
                  format("read node label {}: the node has not been seen yet", label_));
    }
    return value_;
  }

  std::string Annotation() const {
    const std::lock_guard lock(mutex_);
    return annotated_;
  }

  void Upsert(const Json& object) override {
    const std::string* const found = kube::LabelOf(object, label_);
    auto value = found == nullptr ? std::nullopt : std::optional(*found);
    const std::string* const annotated =
        annotation_.empty() ? nullptr : kube::AnnotationOf(object, annotation_);
    std::string annotation = annotated == nullptr ? "" : *annotated;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(seen_, true) && value == value_ && annotation == annotated_) {
        return;
      }
      value_ = std::move(value);
      annotated_ = std::move(annotation);
    }
    const uint64_t one = 1;
    if (write(changed_.get(), &one, sizeof(one)) < 0) {
      log::Warning("{}", FailErrno("tell of a changed node label", errno).error().message);
    }
  }
  // A deleted Node takes its pods with it; until then its last label counts.
  void Remove(const kube::Key& /*key*/) override {}
  void Synced() override {}

 private:
  const std::string label_;
  const std::string annotation_;  // empty: none
  const Fd changed_;
  mutable std::mutex mutex_;
  bool seen_ = false;
  std::optional<std::string> value_;
  std::string annotated_;
};

}  // namespace

class OwnNode::Connection {
 public:
  Connection(const Options& options, std::unique_ptr<kube::Client> client)
      : client_(std::move(client)),
        events_(*client_, options.component, options.name),
        about_(NodeOfEvents(options.name)) {}

  Status WatchLabel(const std::string& node, const std::string& label,
                    const std::string& annotation) {
    CHECK(watch_ == nullptr);
    Fd changed(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!changed.valid()) {
      return FailErrno("watch node label: eventfd", errno);
    }
    label_ = std::make_unique<LabelSink>(label, annotation, std::move(changed));
    watch_ = std::make_unique<kube::Watch>(
        *client_, kube::kinds::kNode,
        kube::Selection{.ns = "", .labels = "", .fields = "metadata.name=" + node}, *label_);
    watch_->Start();
    return {};
  }

  kube::EventRecorder& events() { return events_; }
  [[nodiscard]] const Json& about() const { return about_; }
  [[nodiscard]] LabelSink* label() const { return label_.get(); }

 private:
  std::unique_ptr<kube::Client> client_;
  kube::EventRecorder events_;
  const Json about_;
  std::unique_ptr<LabelSink> label_;
  std::unique_ptr<kube::Watch> watch_;
};

OwnNode::OwnNode(Options options) : options_(std::move(options)) {}
OwnNode::~OwnNode() = default;

Status OwnNode::Connect() {
  if (connection_ != nullptr) {
    return {};
  }
  if (options_.name.empty()) {
    return Fail(ErrorKind::kInvalid, "reach the own node: its name is not known");
  }
  TRY_ASSIGN(auto config, kube::LoadConfig(options_.kubeconfig));
  TRY_ASSIGN(auto client,
             kube::Client::Create(std::move(config), {.component = options_.component,
                                                      .field_manager = options_.component,
                                                      .max_idle_connections = 0}));
  connection_ = std::make_unique<Connection>(options_, std::move(client));
  return {};
}

OwnNode::Connection* OwnNode::ForEvents() {
  if (options_.name.empty() || told_) {
    return nullptr;
  }
  if (const Status connected = Connect(); !connected) {
    told_ = true;
    log::Warning("events go to the log only: {}", connected.error().message);
  }
  return connection_.get();
}

void OwnNode::Normal(const std::string& reason, const std::string& message) {
  if (auto* const connection = ForEvents()) {
    connection->events().Normal(connection->about(), reason, message);
  }
}

void OwnNode::Warning(const std::string& reason, const std::string& message) {
  if (auto* const connection = ForEvents()) {
    connection->events().Warning(connection->about(), reason, message);
  }
}

Status OwnNode::WatchLabel(const std::string& label, const std::string& annotation) {
  TRY(Connect());
  return connection_->WatchLabel(options_.name, label, annotation);
}

bool OwnNode::watches() const { return connection_ != nullptr && connection_->label() != nullptr; }

int OwnNode::label_fd() const { return watches() ? connection_->label()->fd() : -1; }

Result<std::optional<std::string>> OwnNode::TakeLabel() {
  if (!watches()) {
    return Fail(ErrorKind::kUnavailable, "read node label: it is not watched");
  }
  return connection_->label()->Take();
}

std::string OwnNode::Annotation() const {
  return watches() ? connection_->label()->Annotation() : "";
}

Json NodeOfEvents(const std::string& name) {
  Json node = kube::NewObject(kube::kinds::kNode, {.ns = "", .name = name});
  node["metadata"]["uid"] = name;
  return node;
}

}  // namespace gantry::agent
