// SPDX-License-Identifier: Apache-2.0
// What does the cluster want of this node's plugin, and what is it told? The label that names the
// configuration is read by a watch on this one Node; events stand at the Node, where `kubectl
// describe node` shows them by the name, so the uid is not asked for.
#include "agent/own_node.h"

#include <utility>

#include "base/log.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/events.h"
#include "kube/watch.h"

namespace gantry::agent {
namespace {

constexpr char kComponent[] = "nvidia-device-plugin";

class LabelSink : public kube::WatchSink {
 public:
  LabelSink(std::string label, std::function<void(std::optional<std::string>)> tell)
      : label_(std::move(label)), tell_(std::move(tell)) {}

  void Upsert(const Json& object) override {
    const auto* value = kube::LabelOf(object, label_);
    Tell(value == nullptr ? std::nullopt : std::optional(*value));
  }
  // A Node that is gone takes this pod with it; until then nothing changes.
  void Remove(const kube::Key& /*key*/) override {}
  void Synced() override {}

 private:
  void Tell(std::optional<std::string> value) {
    if (!told_ || value != value_) {
      told_ = true;
      value_ = value;
      tell_(std::move(value));
    }
  }

  const std::string label_;
  const std::function<void(std::optional<std::string>)> tell_;
  bool told_ = false;
  std::optional<std::string> value_;
};

}  // namespace

class NodeLink::Impl {
 public:
  Impl(std::string node, std::unique_ptr<kube::Client> client)
      : node_(std::move(node)),
        client_(std::move(client)),
        events_(*client_, kComponent, node_),
        about_(kube::NewObject(kube::kinds::kNode, {.space = "", .name = node_})) {
    about_["metadata"]["uid"] = node_;
  }

  void WatchLabel(std::string label, std::function<void(std::optional<std::string>)> tell) {
    CHECK(watch_ == nullptr);
    sink_ = std::make_unique<LabelSink>(std::move(label), std::move(tell));
    watch_ = std::make_unique<kube::Watch>(
        *client_, kube::kinds::kNode,
        kube::Selection{.space = "", .labels = "", .fields = "metadata.name=" + node_}, *sink_);
    watch_->Start();
  }

  kube::EventRecorder& events() { return events_; }
  [[nodiscard]] const Json& about() const { return about_; }

 private:
  const std::string node_;
  std::unique_ptr<kube::Client> client_;
  kube::EventRecorder events_;
  Json about_;
  std::unique_ptr<LabelSink> sink_;
  std::unique_ptr<kube::Watch> watch_;
};

Result<std::unique_ptr<NodeLink>> NodeLink::Create(std::string node) {
  TRY_ASSIGN(auto config, kube::LoadConfig());
  TRY_ASSIGN(auto client, kube::Client::Create(std::move(config), {.component = kComponent,
                                                                   .field_manager = kComponent,
                                                                   .max_idle_connections = 0}));
  return std::unique_ptr<NodeLink>(
      new NodeLink(std::make_unique<Impl>(std::move(node), std::move(client))));
}

NodeLink::NodeLink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NodeLink::~NodeLink() = default;
void NodeLink::Normal(const std::string& reason, const std::string& message) {
  impl_->events().Normal(impl_->about(), reason, message);
}
void NodeLink::Warning(const std::string& reason, const std::string& message) {
  impl_->events().Warning(impl_->about(), reason, message);
}
void NodeLink::WatchLabel(std::string label, std::function<void(std::optional<std::string>)> tell) {
  impl_->WatchLabel(std::move(label), std::move(tell));
}

NodeLink* LazyNodeLink::Get() {
  if (!std::exchange(asked_, true) && !node_.empty()) {
    auto link = NodeLink::Create(node_);
    if (link) {
      link_ = *std::move(link);
    } else {
      log::Warning("events go to the log only: {}", link.error().message);
    }
  }
  return link_.get();
}

}  // namespace gantry::agent
